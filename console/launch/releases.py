"""The SGLang releases whose wheels were read, and which of them a version lies between."""

from __future__ import annotations

import re

Release = tuple[int, int, int, int]
"""Major, minor, patch, post."""

READ = (
    *("0.4.6.post1", "0.4.7", "0.4.8", "0.4.10", "0.5.1", "0.5.2", "0.5.3", "0.5.4", "0.5.5", "0.5.6", "0.5.7"),
    *("0.5.8", "0.5.8.post1", "0.5.9", "0.5.10", "0.5.10.post1", "0.5.11", "0.5.12", "0.5.12.post1", "0.5.13"),
    *("0.5.14", "0.5.15", "0.5.16", "0.5.17", "0.5.19", "0.5.20", "0.5.22", "0.5.23"),
)
"""The releases whose sources were read."""


def release(version: str | None) -> Release | None:
    """The release that a version names; None for a pre-release, a development version or nothing.

    A local part ("+cu130") does not count: it is a build of that release.
    """
    match = re.fullmatch(r"(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:\.post(\d{1,4}))?(?:\+[\w.-]*)?", version or "", re.ASCII)
    return (int(match[1]), int(match[2]), int(match[3]), int(match[4] or 0)) if match else None


def around(version: str | None) -> tuple[str, ...]:
    """The read release that a version is, or the two that it lies between; empty where it is outside, or no release."""
    at = release(version)
    if at is None or not _ORDER[0] <= at <= _ORDER[-1]:
        return ()
    below = max(each for each in _ORDER if each <= at)
    above = min(each for each in _ORDER if each >= at)
    return tuple(dict.fromkeys((READ[_ORDER.index(below)], READ[_ORDER.index(above)])))


def is_within(version: str | None, first: str | None = None, last: str | None = None) -> bool | None:
    """Is the version from `first` to `last`, both included? None where it names no release."""
    at, low, high = release(version), release(first), release(last)
    return None if at is None else (low is None or at >= low) and (high is None or at <= high)


_ORDER = tuple(each for each in map(release, READ) if each)
