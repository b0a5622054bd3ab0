"""A user's own patches beside the catalog's: found by folder, and a broken one hides no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from console.errors import Refused, UsageError
from console.patches import folders, library, scaffold
from console.validation import Invalid

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, patch_id: str, **changes: str) -> Path:
    own = folder / patch_id
    own.mkdir(parents=True)
    for name, text in scaffold.files(patch_id).items():
        (own / name).write_text(changes.get(name.partition(".")[0], text))
    return own


def test_without_a_folder_there_is_the_catalog(tmp_path: Path) -> None:
    known = folders.read(tmp_path / "none")
    assert known.ids == tuple(library.patches())
    assert known.notes(known.ids) == ()


def test_own_patches_are_known_by_their_folder_and_said_to_be_code(tmp_path: Path) -> None:
    own = write(tmp_path, "my-rows")
    (tmp_path / ".git").mkdir()
    (tmp_path / "notes.txt").write_text("no patch")
    known = folders.read(tmp_path)
    assert known.ids == (*library.patches(), "my-rows")
    assert known.get("my-rows").env == "MY_ROWS"
    assert known.options()["my-rows"] == {"on": "MY_ROWS", "first": "MY_ROWS_FIRST"}
    assert known.notes(["eagle3-shapes", "my-rows"]) == (
        f"my-rows is your own patch ({own}): its code runs inside the server",
    )


def test_a_broken_one_is_an_error_when_named_and_a_warning_otherwise(tmp_path: Path) -> None:
    broken = write(tmp_path, "broken", patch=scaffold.files("broken")["patch.yaml"].replace("kind: if", "kind: iff"))
    write(tmp_path, "fine")
    known = folders.read(tmp_path)
    assert "fine" in known.ids
    assert "broken" not in known.ids
    with pytest.raises(Invalid) as caught:
        known.get("broken")
    assert f"{broken}/patch.yaml:8:5: anchors.captured.kind: must be 'if'" in caught.value.message
    (warning,) = known.notes(["eagle3-shapes"])
    assert warning.startswith(f"warning: the patch broken is left out: {broken}/patch.yaml:8:5: ")


@pytest.mark.parametrize(
    ("patch_id", "changes", "told"),
    [
        ("other", {"patch": scaffold.files("my-rows")["patch.yaml"]}, "the first line of runtime.py must be"),
        ("eagle3-shapes", {}, "there is a patch 'eagle3-shapes' already"),
        ("odd", {"runtime": "# spec-console runtime: odd\ndef record(:\n"}, "runtime.py, line 2: "),
        ("torn", {"patch": "id: [torn"}, "not valid YAML"),
    ],
)
def test_every_fault_is_told_of_its_own_folder(
    tmp_path: Path, patch_id: str, changes: dict[str, str], told: str
) -> None:
    write(tmp_path, patch_id, **changes)
    error = folders.read(tmp_path).broken[patch_id]
    assert told in f"{error.message} {error.detail}"
    assert str(tmp_path / patch_id) in f"{error.message} {error.detail}"


def test_a_folder_with_another_id_in_it_is_told(tmp_path: Path) -> None:
    write(tmp_path, "my-rows").rename(tmp_path / "renamed")
    known = folders.read(tmp_path)
    assert "the folder is called 'renamed'" in known.broken["renamed"].message
    assert ":2:1: " in known.broken["renamed"].message
    assert "my-rows" not in known.ids


def test_a_catalog_patch_stays_usable_beside_a_folder_of_its_name(tmp_path: Path) -> None:
    write(tmp_path, "eagle3-shapes")
    known = folders.read(tmp_path)
    assert known.get("eagle3-shapes") is library.patches()["eagle3-shapes"]
    assert len(known.notes([])) == 1


def test_a_missing_file_and_one_that_is_too_big_are_told(tmp_path: Path) -> None:
    (write(tmp_path, "no-runtime") / "runtime.py").unlink()
    with (write(tmp_path, "huge") / "runtime.py").open("wb") as file:
        file.truncate(5 << 20)
    broken = folders.read(tmp_path).broken
    assert "runtime.py: cannot be read: No such file" in broken["no-runtime"].message
    assert "larger than 4,194,304 bytes" in broken["huge"].message


def test_an_unknown_patch_names_the_nearest_and_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        folders.read(tmp_path).get("eagle3-shape")
    assert caught.value.hint == "Nearest: eagle3-shapes. Patches: eagle3-cycle, eagle3-digest, eagle3-shapes."


def test_a_new_patch_loads_as_it_is_written_and_nothing_is_written_over(tmp_path: Path) -> None:
    from console.actions import new_patch

    for patch_id in ("my-rows", "a", "x9-y"):
        made = new_patch.run(patch_id, tmp_path / "patches", folders.read(tmp_path / "patches"))
        known = folders.read(tmp_path / "patches")
        assert known.broken == {}
        assert known.get(patch_id).env == made.env
    form = tmp_path / "patches" / "my-rows" / "patch.yaml"
    form.write_text("mine")
    with pytest.raises(Refused):
        new_patch.run("my-rows", tmp_path / "patches", folders.read(tmp_path / "patches"))
    assert form.read_text() == "mine"


@pytest.mark.parametrize("patch_id", ["", "My", "a--b", "-a", "9a", "a/b", "..", "a\n", "x" * 61, "eagle3-shapes"])
def test_an_id_that_cannot_be_writes_nothing(tmp_path: Path, patch_id: str) -> None:
    from console.actions import new_patch

    with pytest.raises(UsageError):
        new_patch.run(patch_id, tmp_path, folders.read(tmp_path))
    assert list(tmp_path.iterdir()) == []
