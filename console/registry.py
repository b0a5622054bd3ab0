"""A registry is a folder: the modules of a package, by file stem."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def stems(package: ModuleType) -> tuple[str, ...]:
    """Return the names of the modules in `package`, sorted, without importing them."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")))


def modules(package: ModuleType) -> dict[str, ModuleType]:
    """Import and return every module of `package`, by stem."""
    return {name: importlib.import_module(f"{package.__name__}.{name}") for name in stems(package)}
