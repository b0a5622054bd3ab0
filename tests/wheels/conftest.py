"""Real SGLang wheels, downloaded once into a cache by this Python's pip and read from the zip."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.wheels import released

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


@pytest.fixture(scope="session")
def unpack() -> Callable[[str, Path], Path]:
    """`unpack(version, folder)`: the released package as pip would lay it out in `folder`; its `sglang` folder."""

    def _unpack(version: str, folder: Path) -> Path:
        try:
            whole = released.wheel(version)
        except released.Unavailable as reason:
            pytest.skip(str(reason))
        with zipfile.ZipFile(whole) as wheel:
            wheel.extractall(folder)
        return folder / "sglang"

    return _unpack


@pytest.fixture(scope="session")
def tree() -> Callable[[str, tuple[str, ...]], Mapping[str, bytes | None]]:
    """`tree(version, paths)`: those files of the released `sglang` package, None where it has none of that path."""

    def _tree(version: str, paths: tuple[str, ...]) -> Mapping[str, bytes | None]:
        try:
            return released.read(version, paths)
        except released.Unavailable as reason:
            pytest.skip(str(reason))

    return _tree
