"""The kinds of values that profile keys take, with the rules that a type alone does not say."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from console.launch.flags import is_secret, key_for
from console.launch.secrets import reference
from console.validation import env_name

_FLAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ID = re.compile(r"[a-z0-9][a-z0-9-]*")
_SITE = re.compile(r"[a-z_]+\.[a-z_]+")
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.%a-z]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


def _flag_name(name: str) -> str:
    bare = name.lstrip("-")
    if is_secret(bare.replace("_", "-")):
        raise ValueError(
            "a secret never stands in the command line, where every account can read it; "
            "write it as a key of the profile, by reference, such as api_key: ${MY_API_KEY}"
        )
    if name != bare:
        raise ValueError(f"write the flag without its dashes: {bare}")
    if "_" in name:
        raise ValueError(f"flags have hyphens: write {name.replace('_', '-')}")
    if not _FLAG.fullmatch(name):
        raise ValueError(f"{name!r} is not a flag")
    key = key_for(name)
    if key:
        raise ValueError(f"the profile has a key for --{name}: write {key}")
    return name


def _full(pattern: re.Pattern[str], what: str) -> AfterValidator:
    def match(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"{text!r} is not {what}")
        return text

    return AfterValidator(match)


def _node_path(text: str) -> str:
    if text.startswith("~"):
        raise ValueError("~ is a shell's word and no shell reads this: write an absolute path, or ${home}/…")
    if not text or text.startswith(("-", "./", "../")):
        raise ValueError(f"{text!r} is not an absolute path")
    return text


def _absolute(text: str) -> str:
    _node_path(text)
    if not text.startswith(("/", "${")):
        raise ValueError(f"{text!r} is not an absolute path")
    return text


def _secret_reference(value: Any) -> Any:
    if not isinstance(value, str) or not reference(value):
        raise ValueError("a secret stands here by reference to your environment, such as ${MY_API_KEY}, never itself")
    return value


def _argument(value: Any) -> Any:
    """Say in one sentence what pydantic would say once for each member of the union."""
    items = value if isinstance(value, list) else [value]
    if any(isinstance(item, (dict, list)) for item in items):
        raise ValueError("wants text, a number, true (the bare flag), false (left out) or a list of text and numbers")
    for item in value if isinstance(value, list) else []:
        if isinstance(item, bool) or item is None:
            raise ValueError("true, false and null cannot stand in a list: put the text in quotes")
        if isinstance(item, str) and item.startswith("-"):
            raise ValueError(f"{item!r} in a list would be read as a flag")
    return value


def _distinct(indices: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(indices)) != len(indices):
        raise ValueError("an index stands twice")
    return indices


def _prompt(value: Any) -> Any:
    if isinstance(value, str) or (
        isinstance(value, list) and value and all(type(item) is int and item >= 0 for item in value)
    ):
        return value
    raise ValueError("wants the name of a prompt set, a text, or a list of input ids such as [5, 17, 300]")


EnvName = Annotated[StrictStr, AfterValidator(env_name)]
FlagName = Annotated[StrictStr, AfterValidator(_flag_name)]
ProfileName = Annotated[StrictStr, _full(_NAME, "a name (letters, digits, dot, hyphen, underscore)")]
PatchId = Annotated[StrictStr, _full(_ID, "a patch id (small letters, digits, hyphens)")]
Site = Annotated[StrictStr, _full(_SITE, "a site, such as draft.fc_in")]
Address = Annotated[StrictStr, _full(_ADDRESS, "an address, such as 10.0.0.1:20000")]
Module = Annotated[StrictStr, _full(_MODULE, "a Python module")]
Word = Annotated[StrictStr, _full(re.compile(r"[^\s-]\S*"), "one word")]
NodePath = Annotated[StrictStr, AfterValidator(_node_path)]
"""A path on the node, or for models the id of a hub."""
AbsolutePath = Annotated[StrictStr, AfterValidator(_absolute)]
SecretRef = Annotated[StrictStr, BeforeValidator(_secret_reference)]
Positive = Annotated[StrictInt, Field(ge=1)]
Count = Annotated[StrictInt, Field(ge=0)]
Devices = Annotated[tuple[Count, ...], Field(min_length=1), AfterValidator(_distinct)]
Port = Annotated[StrictInt, Field(ge=1, le=65535)]
Scalar = StrictBool | StrictInt | StrictFloat | StrictStr
Argument = Annotated[Scalar | list[StrictInt | StrictFloat | StrictStr] | None, BeforeValidator(_argument)]
"""A free flag's value: true is the bare flag, false and null leave it out, a list is several words after it."""
Prompt = Annotated[StrictStr | tuple[StrictInt, ...], BeforeValidator(_prompt)]
"""The name of a shipped set, the text itself, or input ids."""
