"""The exact command of a resolved profile: argv, environment, log; and the one way to write it as a shell line."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from console.launch.flags import SECRET_KEYS, SERVER_KEYS, SPECULATIVE_KEYS, flag_of
from console.launch.secrets import MASK, looks_secret, masked_env, reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from console.launch.loader import ResolvedProfile
    from console.launch.profile import Profile

CONFIG_NAME = "config.yaml"
"""Stands in a shell line for the file of secrets, which the agent writes. SGLang reads `--config` from 0.5.3 on."""

_VARIABLE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Command:
    """What is started on the node. `env` is set on top of the agent's own environment and holds true values."""

    argv: tuple[str, ...]
    env: dict[str, str] = field(repr=False)
    log_path: str
    port: int
    cwd: str | None = None
    secret_env: tuple[str, ...] = ()
    """Names in `env` whose values are masked in every record."""
    secret_config: dict[str, str] = field(default_factory=dict, repr=False)
    """Flags (without dashes) that reach the server by a 0600 `--config` file."""
    missing_secrets: tuple[str, ...] = ()
    """Variables that were not read, because the profile was resolved without an environment: not to be launched."""

    def masked_env(self) -> dict[str, str]:
        """Return the environment for showing and storing."""
        return masked_env(self.env, self.secret_env)


def render(resolved: ResolvedProfile, node_env: Mapping[str, str] | None = None) -> Command:
    """Return the command of a profile. `node_env` is what the node's configuration puts under every launch."""
    profile = resolved.profile
    references = {name: reference(value) for name, value in profile.secret_env.items()}
    config = {flag_of(key): reference(getattr(profile, key)) for key in SECRET_KEYS if getattr(profile, key)}
    values = {name: resolved.secrets.get(name, MASK) for name in (*references.values(), *config.values())}
    env = {**(node_env or {}), **resolved.patch_env, **profile.env, **_visible_devices(profile)}
    env |= {name: values[source] for name, source in references.items()}
    return Command(
        argv=(profile.python, "-m", profile.module, *_flags(profile)),
        env=dict(sorted(env.items())),
        log_path=profile.log_path,
        port=profile.port,
        cwd=profile.cwd,
        secret_env=tuple(sorted({*references, *filter(looks_secret, env)})),
        secret_config={flag: values[source] for flag, source in config.items()},
        missing_secrets=tuple(sorted(name for name in values if name not in resolved.secrets)),
    )


def shell_line(command: Command, wrap: bool = False, filled: Mapping[str, str] | None = None) -> str:
    """Write the command as one would type it: environment, nohup, flags, log. Secrets stand as `"$NAME"`.

    With `wrap`, one flag a line. The text is safe to paste; before it is shown, `units.plain` makes it safe to look at.
    `filled` is given for a command whose node variables were left as they are (`Inputs.variables` None): those that it
    names get its value, another one is the shell's, `"${NAME:?}"`, which names what is not set and starts nothing.
    """
    quote = shlex.quote if filled is None else lambda word: _open(word, filled)
    head = [f"cd {quote(command.cwd)} &&"] if command.cwd else []
    head += [_assignment(name, value, command.secret_env, quote) for name, value in command.env.items()]
    words = [quote(word) for word in command.argv]
    if command.secret_config:
        words += ["--config", CONFIG_NAME]
    lines = _by_flag(words) if wrap else [" ".join(words)]
    start = " ".join([*head, "nohup", lines[0]])
    tail = f"> {quote(command.log_path)} 2>&1 &"
    return (" \\\n  " if wrap else " ").join([start, *lines[1:], tail]) + _about_config(command)


def _assignment(name: str, value: str, secret: tuple[str, ...], quote: Callable[[str], str]) -> str:
    return f'{name}="${name}"' if name in secret else f"{name}={quote(value)}"


def _open(word: str, filled: Mapping[str, str]) -> str:
    """Quote a word in which node variables stand; `$${` is a plain `${` there."""
    quoted, text, at = "", "", 0
    for match in _VARIABLE.finditer(word):
        text, at, name = text + word[at : match.start()], match.end(), match[1]
        if name is None or name in filled:
            text += "${" if name is None else filled[name]
            continue
        quoted += (shlex.quote(text) if text else "") + ('"$HOME"' if name == "home" else f'"${{{name}:?}}"')
        text = ""
    text += word[at:]
    return quoted + (shlex.quote(text) if text or not quoted else "")


def _about_config(command: Command) -> str:
    if not command.secret_config:
        return ""
    return f"  # {CONFIG_NAME}: a file of mode 0600 with {', '.join(command.secret_config)}"


def _by_flag(words: list[str]) -> list[str]:
    lines: list[str] = [words[0]]
    for word in words[1:]:
        if word.startswith("--"):
            lines.append(word)
        else:
            lines[-1] += " " + word
    return lines


def _visible_devices(profile: Profile) -> dict[str, str]:
    return {} if profile.gpus is None else {"CUDA_VISIBLE_DEVICES": ",".join(map(str, profile.gpus))}


def _flags(profile: Profile) -> Iterator[str]:
    for key in SERVER_KEYS:
        yield from _words(flag_of(key), getattr(profile, key))
    for flag, value in sorted(profile.args.items()):
        yield from _words(flag, value)
    for key in SPECULATIVE_KEYS if profile.speculative else ():
        yield from _words(flag_of(f"speculative.{key}"), getattr(profile.speculative, key))


def _words(flag: str, value: Any) -> tuple[str, ...]:
    if value is None or value is False:
        return ()
    if value is True:
        return (f"--{flag}",)
    if isinstance(value, list):
        return (f"--{flag}", *map(_text, value))
    text = _text(value)
    # argparse would take a separate word that begins with a hyphen for the next flag
    return (f"--{flag}={text}",) if text.startswith("-") else (f"--{flag}", text)


def _text(value: float | str) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
