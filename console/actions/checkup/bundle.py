"""The doctor's report as a file for somebody else: secrets masked, names of hosts and people replaced unless kept.

One gzipped tar of `report.json` and `report.txt`, 0600. What is masked: values under names that hold secrets, the forms
of well-known services' keys, private key blocks, and text after words such as `password=`. Names of hosts, users and
homes that the report itself knows become host-1, user-1, home-1 everywhere: what belongs together still does.
"""

from __future__ import annotations

import io
import ipaddress
import json
import re
import tarfile
from typing import TYPE_CHECKING, Any

from console import new_file
from console.launch.secrets import MASK, looks_secret
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

_SECRETS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
    r"|\b(?:sk-|hf_|gh[pousr]_|github_pat_|xox[abp]-|AKIA|nvapi-)[A-Za-z0-9_-]{16,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]+"
    r"|(?<=://)[^/\s:@]*:[^/\s@]+(?=@)",
    re.DOTALL,
)
_AFTER = re.compile(r"(?i)\b([\w-]*(?:password|passwd|passphrase|secret|token|api[_-]?key)[\w-]*\s*[=:]\s*)[^\s,;\"']+")
_LEAST = 3
"""A shorter name stands in too many words to be replaced."""
_COMMON = frozenset(("root", "localhost", "local", "demo", "none", "user", "home", "node", "host", "address"))
_ADDRESS = re.compile(r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F]*:[0-9a-fA-F:]+)(?![\w.:]*\w)")
CONTENTS = (
    "report.json (all readings)",
    "report.txt (the same lines as on the screen)",
)


def masked(value: Any) -> Any:
    """Plain data with secrets masked, by the name that they stand under and by their form."""
    if isinstance(value, dict):
        return {key: MASK if looks_secret(str(key)) and item else masked(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(item) for item in value]
    return masked_text(value) if isinstance(value, str) else value


def masked_text(text: str) -> str:
    return _AFTER.sub(rf"\1{MASK}", _SECRETS.sub(MASK, text))


def aliases(hosts: Iterable[str], users: Iterable[str], homes: Iterable[str]) -> dict[str, str]:
    """What each name becomes; one that is a common word, or too short to be found safely, is kept."""
    kinds = (("home", homes), ("host", hosts), ("user", users))
    made: dict[str, str] = {}
    for kind, names in kinds:
        fit = [each for each in dict.fromkeys(names) if len(each) >= _LEAST and each.lower() not in _COMMON]
        made.update({name: f"{kind}-{number}" for number, name in enumerate(fit, 1) if name not in made})
    return made


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Replace names in every string, the longest first, and every address but loopback."""
    if isinstance(value, dict):
        return {key: renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    if not isinstance(value, str):
        return value
    for name in sorted(names, key=len, reverse=True):
        value = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", names[name], value)
    return _ADDRESS.sub(lambda found: _address(found[0]), value)


def _address(text: str) -> str:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return text
    return text if found.is_loopback or found.is_unspecified else "address"


def write(path: Path, report: Mapping[str, Any], lines: Sequence[str], names: Mapping[str, str]) -> None:
    """Write the bundle; an existing file is never written over. Raises Refused, UsageError."""
    told = renamed(masked(dict(report)), names)
    text = "\n".join(renamed(masked_text(plain(line)), names) for line in lines) + "\n"
    members = {"report.json": json.dumps(told, indent=1, allow_nan=False) + "\n", "report.txt": text}
    with new_file.created(path, mode=0o600) as file, tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, content in members.items():
            _add(tar, name, content.encode())


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    """Without the writer's own name, user or time."""
    member = tarfile.TarInfo(f"spec-console-doctor/{name}")
    member.size, member.mode = len(content), 0o600
    tar.addfile(member, io.BytesIO(content))
