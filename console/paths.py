"""Where the console keeps its files on this machine, and where profiles are looked for. Passed in, never global."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

HOME_VARIABLE = "SPEC_CONSOLE_HOME"
"""Puts everything under one folder; tests and demonstrations use it."""

_APP = "spec-console"


@dataclass(frozen=True, slots=True)
class Paths:
    """The console's folders. None of them need exist yet; what writes there creates them."""

    config: Path
    data: Path
    state: Path
    profiles: tuple[Path, ...]
    """Search order: `./profiles`, the config directory's, the shipped ones."""

    @property
    def nodes_file(self) -> Path:
        """`nodes.yaml`, the user's nodes."""
        return self.config / "nodes.yaml"

    @property
    def keys_file(self) -> Path:
        """`keys.yaml`, the user's keymap."""
        return self.config / "keys.yaml"

    @property
    def command_history(self) -> Path:
        """What was entered on the console's command line."""
        return self.state / "commands"

    @property
    def patches(self) -> Path:
        """The user's own patches, a folder each."""
        return self.config / "patches"

    @property
    def wheels(self) -> Path:
        """Sources of released SGLangs, kept once they were read."""
        return self.data / "wheels"

    @property
    def database(self) -> Path:
        """The journal of runs."""
        return self.data / "runs.sqlite3"


def locate(environ: Mapping[str, str] | None = None, cwd: Path | None = None) -> Paths:
    """Return the folders for this user: XDG's, or those under SPEC_CONSOLE_HOME."""
    environ = os.environ if environ is None else environ
    config, data, state = _under(environ[HOME_VARIABLE]) if environ.get(HOME_VARIABLE) else _of_user()
    order = (cwd or Path.cwd()) / "profiles", config / "profiles", shipped_profiles()
    return Paths(config, data, state, tuple(dict.fromkeys(folder.resolve() for folder in order)))


def shipped_profiles() -> Path:
    """Return the folder of the profiles that come with the console: in the wheel, or in a checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "_profiles"
    return installed if installed.is_dir() else package.parent / "profiles"


def _under(home: str) -> tuple[Path, Path, Path]:
    root = Path(home).expanduser().absolute()
    return root / "config", root / "data", root / "state"


def _of_user() -> tuple[Path, Path, Path]:
    import platformdirs

    dirs = platformdirs.PlatformDirs(_APP, appauthor=False)
    return dirs.user_config_path, dirs.user_data_path, dirs.user_state_path
