"""A patch that a profile wants: its id, or a mapping of its id and values of its options."""

# no `from __future__ import annotations`: pydantic reads these annotations while the module runs
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from console.launch.values import PatchId
from console.validation import Path_, Problem, dotted, nearest

if TYPE_CHECKING:
    from console.launch.profile import Profile


def _value(value: Any) -> Any:
    items = value if isinstance(value, list) else [value]
    if not items or not all(isinstance(item, str | int) for item in items):
        raise ValueError("wants text, a whole number, true or false, or a list of those")
    return value


OptionValue = Annotated[Any, BeforeValidator(_value)]


class PatchChoice(BaseModel):
    """`eagle3-shapes`, or `{id: eagle3-shapes, first: 20, sites: [draft.fc_in]}`. Its options are the patch's own."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, OptionValue]

    id: PatchId

    @property
    def options(self) -> dict[str, str]:
        """What is chosen, as the server reads it from its environment."""
        return {name: _text(value) for name, value in (self.__pydantic_extra__ or {}).items()}

    @model_validator(mode="before")
    @classmethod
    def _from_id(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"id": value}
        if not isinstance(value, dict):
            raise ValueError("wants the id of a patch, or a mapping of an id and options")
        return value

    @model_serializer(mode="wrap")
    def _plain(self, inner: SerializerFunctionWrapHandler) -> Any:
        return inner(self) if self.__pydantic_extra__ else self.id


def patch_env(
    profile: "Profile", known: Mapping[str, Mapping[str, str]] | None, where: Callable[[Path_], str]
) -> tuple[dict[str, str], list[Problem]]:
    """Return what the options put into the server's environment, and every problem.

    `known` has the variable of each option by patch and name; None: nothing is known, so nothing is put in.
    """
    problems = list(_twice(profile, where))
    env: dict[str, str] = {}
    for index, choice in enumerate(profile.patches if known is not None else ()):
        patch = (known or {}).get(choice.id, {})
        for name, value in choice.options.items() if choice.id in (known or {}) else ():
            path: Path_ = ("patches", index, name)
            variable = patch.get(name)
            if variable is None:
                problems.append(_no_option(choice.id, name, patch, path, where))
            elif variable in env:
                told = f"{dotted(path)}: another patch's options set the variable {variable} too"
                problems.append(Problem(path, where(path), told))
            elif variable in {**profile.env, **profile.secret_env}:
                told = f"{dotted(path)}: this is the variable {variable}, which stands in env too: keep one of them"
                problems.append(Problem(path, where(path), told))
            else:
                env[variable] = value
    return env, problems


def unknown_patches(data: Any, known: Collection[str] | None, where: Callable[[Path_], str]) -> Iterator[Problem]:
    """Yield each patch of a profile's data that there is none of; None: nothing is known, so nothing is said."""
    entries = data if isinstance(data, list) and known is not None else []
    for index, entry in enumerate(entries):
        patch_id = entry.get("id") if isinstance(entry, dict) else entry
        if isinstance(patch_id, str) and patch_id not in (known or ()):
            yield _no_patch(patch_id, known or (), ("patches", index), where)


def _twice(profile: "Profile", where: Callable[[Path_], str]) -> Iterator[Problem]:
    ids = [choice.id for choice in profile.patches]
    for index, each in enumerate(ids):
        if each in ids[:index]:
            path: Path_ = ("patches", index)
            yield Problem(path, where(path), f"{dotted(path)}: {each} stands twice")


def _no_patch(patch_id: str, known: Iterable[str], path: Path_, where: Callable[[Path_], str]) -> Problem:
    near = nearest(patch_id, known)
    more = "" if near else "; `spec-console config validate` says what is wrong with those of your own"
    return Problem(path, where(path), f"{dotted(path)}: there is no usable patch {patch_id!r}{more}", near)


def _no_option(patch_id: str, name: str, options: Iterable[str], path: Path_, where: Callable[[Path_], str]) -> Problem:
    near = nearest(name, options)
    there = f"; it has {', '.join(options)}" if not near else ""
    return Problem(path, where(path), f"{dotted(path)}: the patch {patch_id} has no option {name!r}{there}", near)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(_text(item) for item in value)
    return str(int(value)) if isinstance(value, bool) else str(value)
