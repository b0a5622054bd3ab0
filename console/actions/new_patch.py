"""Write the folder of a new patch of the user's own: it loads as it is, and is there to be changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console import new_file, yaml_file
from console.errors import UsageError
from console.patches import scaffold, user

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from console.errors import Refused
    from console.patches.known import KnownPatches

_ANOTHER_ID = "Nothing was written. Choose another id, or remove it."


@dataclass(frozen=True, slots=True)
class NewPatch:
    """A folder as it is to be written, or was."""

    patch_id: str
    env: str
    files: tuple[Path, ...]

    @property
    def ok(self) -> bool:
        return True

    def lines(self) -> Iterator[str]:
        yield from map(str, self.files)
        yield f"{self.env}=1 switches it on. Try it: spec-console patch test {self.patch_id} --wheel 0.5.20"

    def to_json(self) -> dict[str, Any]:
        return {"id": self.patch_id, "env": self.env, "written": [str(path) for path in self.files]}

    @property
    def refusal(self) -> Refused | None:
        """Why it would not be written; None where nothing of that name is there."""
        folder = self.files[0].parent
        return new_file.in_the_way(folder, _ANOTHER_ID)


def plan(patch_id: str, folder: Path, known: KnownPatches) -> NewPatch:
    """Say what `run` would write. Raises UsageError where no such id can be, or it is taken."""
    own = folder / patch_id
    return NewPatch(patch_id, _loaded(patch_id, own, known), tuple(own / name for name in scaffold.files(patch_id)))


def run(patch_id: str, folder: Path, known: KnownPatches) -> NewPatch:
    """Write `folder`/`patch_id`.

    Raises:
        UsageError: no such id can be, it is taken, or the folder cannot be written.
        Refused: there is something of that name already.
    """
    planned, own = plan(patch_id, folder, known), folder / patch_id
    try:
        folder.mkdir(parents=True, exist_ok=True)
        own.mkdir()
        for name, text in scaffold.files(patch_id).items():
            (own / name).write_text(text, encoding="utf-8")
    except FileExistsError:
        raise new_file.there_already(own, _ANOTHER_ID) from None
    except OSError as error:
        raise UsageError(f"{own} cannot be written: {error.strerror}") from None
    return planned


def _loaded(patch_id: str, own: Path, known: KnownPatches) -> str:
    """The variable that switches the patch on, as its form is read; the form is that which would be written."""
    if not user.is_id(patch_id):
        hint = "Lower case letters, digits and single dashes, a letter first: my-rows."
        raise UsageError(f"{patch_id!r} cannot be the id of a patch", hint)
    texts = scaffold.files(patch_id)
    form = yaml_file.load(texts[user.FORM_FILE], str(own / user.FORM_FILE))
    others = {each: patch for each, patch in known.patches.items() if each not in known.own}
    return user.load(form, texts[user.RUNTIME_FILE].encode(), others).env
