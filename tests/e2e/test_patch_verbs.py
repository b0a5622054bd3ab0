"""`patch new|test|import`, own patches and options of patches, by the command line on the embedded node."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console import yaml_file
from tests.cli import Console, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

PROFILE = "kimi-k2.5-eagle3-debug"
TARGET = "srt/models/deepseek_v2.py"
AUX = "        aux_hidden_states = None\n"


@pytest.fixture
def console(tmp_path) -> Iterator[Console]:
    made = Console(tmp_path / "home", free_port())
    yield made
    made.leave()


def site(console: Console) -> Path:
    return console.home / "data" / "demo" / "site" / "sglang"


def tree(console: Console) -> dict[str, str]:
    root = site(console)
    files = [path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def own_patch(console: Console) -> Path:
    """A patch of one's own for the embedded node's target."""
    code, told, narration = console.run("patch", "new", "my-rows")
    assert code == 0, narration
    form, _ = map(Path, told["written"])
    text = form.read_text().replace("srt/models/llama.py", TARGET)
    form.write_text(text.replace("[LlamaForCausalLM]", "[DeepseekV3ForCausalLM, KimiK25ForConditionalGeneration]"))
    return form


def own_profile(console: Console, patches: list[object]) -> None:
    folder = console.home / "config" / "profiles"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.yaml").write_text(yaml_file.dump({"extends": PROFILE, "env": {}, "patches": patches}))


def a_diff(console: Console, path: Path, *, mended: str = "mended", old: str = AUX) -> Path:
    """A diff of the target and of a new file, at the line where the target has it."""
    lines = (site(console) / TARGET).read_text().splitlines(keepends=True)
    at = lines.index(AUX) + 1
    path.write_text(
        f"--- a/python/sglang/{TARGET}\n+++ b/python/sglang/{TARGET}\n@@ -{at},1 +{at},1 @@\n-{old}"
        f"+{AUX.rstrip()}  # {mended}\n"
        "--- /dev/null\n+++ b/python/sglang/srt/new_one.py\n@@ -0,0 +1,1 @@\n+X = 1\n"
    )
    return path


@pytest.mark.slow
@pytest.mark.parametrize("delivery", ["overlay", "in-place"])
def test_an_own_patch_with_options_records_in_the_server_and_comes_off_again(console, delivery):
    own_patch(console)
    own_profile(console, ["eagle3-shapes", {"id": "my-rows", "on": 1, "first": 2, "missing": 1}])
    code, told, _ = console.run("patch", "apply", "demo", "--profile", "mine", "--yes")
    assert code == 2
    assert "mine.yaml:8:3: patches.1.missing: the patch my-rows has no option 'missing'" in told["error"]["message"]

    own_profile(console, ["eagle3-shapes", {"id": "my-rows", "on": 1, "first": 2}])
    before = tree(console)
    words = ("patch", "apply", "demo", "--profile", "mine", "--delivery", delivery, "--yes")
    code, told, narration = console.run(*words)
    assert code == 0, narration
    assert narration.count("my-rows is your own patch") == 1
    assert (tree(console) == before) == (delivery == "overlay")
    code, told, narration = console.run("launch", "demo", "mine", "--yes", *console.sets())
    assert code == 0, narration
    assert {name: told["server"]["env"][name] for name in ("MY_ROWS", "MY_ROWS_FIRST", "EAGLE3_DEBUG")} == {
        "MY_ROWS": "1",
        "MY_ROWS_FIRST": "2",
        "EAGLE3_DEBUG": "1",
    }
    log = Path(told["server"]["log_path"])
    code, told, narration = console.run("probe", "demo")
    assert code == 0, narration
    assert {"my-rows", "eagle3-shapes"} <= {each["patch_id"] for each in told["run"]["fingerprint"]["patches"]}
    lines = [line for line in log.read_text().splitlines() if "[MY_ROWS] site=my.rows rank=3 " in line]
    assert len(lines) == 2
    assert console.run("stop", "demo", "--yes")[0] == 0
    assert console.run("patch", "revert", "demo", "--yes")[0] == 0
    assert tree(console) == before


@pytest.mark.slow
def test_a_broken_own_patch_is_told_when_named_and_hides_no_other(console):
    form = own_patch(console)
    form.write_text(form.read_text().replace("where: after", "where: behind"))
    code, told, _ = console.run("patch", "plan", "demo", "my-rows")
    assert code == 2
    assert f"{form}:21:9: files.0.inserts.0.where: must be" in told["error"]["message"]
    code, told, _ = console.run("patch", "plan", "demo", "eagle3-shapes", "--all-models")
    assert code == 0
    (note,) = told["notes"]
    assert note.startswith(f"warning: the patch my-rows is left out: {form}:21:9: ")
    assert console.run("status", "demo")[0] == 0


@pytest.mark.slow
def test_what_is_applied_is_still_known_when_its_folder_is_gone(console):
    form = own_patch(console)
    in_place = ("my-rows", "--all-models", "--delivery", "in-place")
    assert console.run("patch", "apply", "demo", *in_place, "--yes")[0] == 0
    form.unlink()
    code, told, _ = console.run("patch", "verify", "demo", "my-rows", "--delivery", "in-place")
    assert (code, {file["state"] for file in told["files"]}) == (0, {"applied"})
    code, told, narration = console.run("launch", "demo", PROFILE, "--dry-run", *console.sets("patches=[]"))
    assert code == 0, narration
    assert console.run("patch", "revert", "demo", "--yes")[0] == 0


def test_new_writes_over_nothing(console):
    form = own_patch(console)
    mine = form.read_text()
    code, told, _ = console.run("patch", "new", "my-rows")
    assert code == 5
    assert "is there already" in told["error"]["message"]
    assert form.read_text() == mine


def test_explain_shows_each_anchor_with_file_and_line(console):
    code, told, _ = console.run("patch", "plan", "demo", "eagle3-shapes", "--all-models", "--explain")
    assert code == 0
    (aux,) = [each for each in told["anchors"] if each["path"] == TARGET]
    assert (aux["site"], aux["owner"], aux["where"]) == ("target.aux", "DeepseekV2ForCausalLM.forward", "after")
    assert aux["anchor"].startswith("A1 `if self.capture_aux_hidden_states:`")
    line = (site(console) / TARGET).read_text().splitlines()[aux["line"] - 1]
    assert line.strip() == "if self.capture_aux_hidden_states:"
    assert f"+++ b/sglang/{TARGET}" in told["diff"]


@pytest.mark.slow
def test_an_import_is_kept_account_of_and_comes_off_to_the_byte(console, tmp_path):
    assert console.run("status", "demo")[0] == 0
    before = tree(console)
    diff = a_diff(console, tmp_path / "Fix Aux.patch")
    code, told, _ = console.run("patch", "import", "demo", str(diff), "--dry-run")
    assert (code, told["id"], tree(console) == before) == (0, "import:fix-aux", True)
    assert console.run("patch", "import", "demo", str(diff))[0] == 5, "nobody confirmed it"
    assert tree(console) == before

    code, told, narration = console.run("patch", "import", "demo", str(diff), "--yes")
    assert code == 0, narration
    files = {file["path"]: file for file in told["files"]}
    assert {path: (file["state"], file["compiled"]) for path, file in files.items()} == {
        TARGET: ("applied", True),
        "srt/new_one.py": ("applied", True),
    }
    assert {path for path, sha in tree(console).items() if before.get(path) != sha} == set(files)
    (patched,) = console.run("status", "demo")[1]["patches"]
    assert patched["patches"] == ["import:fix-aux"]
    code, told, _ = console.run("patch", "verify", "demo", "--all-models")
    assert "srt/new_one.py" in {file["path"] for file in told["files"]}, "listed without being named"
    assert console.run("patch", "import", "demo", str(diff), "--yes")[0] == 0, "it is in already"
    code, told, _ = console.run("patch", "import", "demo", str(a_diff_of_another(console, tmp_path)), "--yes")
    assert code == 2
    assert "import:fix-aux is in the tree already" in told["error"]["message"]

    words = ("patch", "apply", "demo", "eagle3-shapes", "--all-models", "--delivery", "in-place", "--yes")
    assert console.run(*words)[0] == 0, "on top of it"
    code, told, _ = console.run("patch", "verify", "demo", "import:fix-aux", "--delivery", "in-place")
    assert code == 0
    with (site(console) / TARGET).open("a") as file:
        file.write("# by hand\n")
    code, told, _ = console.run("patch", "verify", "demo", "import:fix-aux", "--delivery", "in-place")
    assert code == 1
    assert [file["state"] for file in told["files"] if file["path"] == TARGET] == ["drifted"]
    text = (site(console) / TARGET).read_bytes()
    (site(console) / TARGET).write_bytes(text.removesuffix(b"# by hand\n"))
    code, told, narration = console.run("patch", "revert", "demo", "--yes")
    assert code == 0, narration
    assert tree(console) == before


def a_diff_of_another(console: Console, folder: Path) -> Path:
    path = folder / "fix-aux.patch"
    path.write_text("--- a/sglang/version.py\n+++ b/sglang/version.py\n@@ -1,0 +1,1 @@\n+# more\n")
    return path


@pytest.mark.slow
def test_a_hunk_that_does_not_fit_changes_nothing(console, tmp_path):
    assert console.run("status", "demo")[0] == 0
    before = tree(console)
    diff = a_diff(console, tmp_path / "fix.patch", old="        aux_hidden_states = 1\n")
    code, told, _ = console.run("patch", "import", "demo", str(diff), "--yes")
    assert code == 5
    number = (site(console) / TARGET).read_text().splitlines(keepends=True).index(AUX) + 1
    assert f"hunk 1 (line 3 of the diff) does not fit: line {number} of the file is another" in told["error"]["message"]
    assert tree(console) == before, "not the new file either"
    code, told, _ = console.run("patch", "import", "demo", str(diff), "--dry-run")
    assert (code, told["ok"], told["dry_run"], bool(told["files"])) == (5, False, True, True)
    assert "does not fit" in told["error"]["message"]
    assert console.run("status", "demo")[1]["patches"] == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"hello\n", "no unified diff"),
        (b"--- a/etc/passwd\n+++ b/etc/passwd\n@@ -1 +1 @@\n-a\n+b\n", "which is no file of an `sglang` package"),
        (b"--- a/sglang/srt/../../x.py\n+++ b/sglang/srt/../../x.py\n@@ -1 +1 @@\n-a\n+b\n", "which is no file of"),
        (b"Binary files a/sglang/x.so and b/sglang/x.so differ\n", "a binary file"),
        (b"x" * (4 * 1024 * 1024 + 1), "at most 4,194,304 are read"),
    ],
)
def test_a_hostile_diff_is_refused_before_anything_is_read(console, tmp_path, text, told):
    (tmp_path / "x.patch").write_bytes(text)
    code, said, _ = console.run("patch", "import", "demo", str(tmp_path / "x.patch"), "--yes")
    assert code == 2
    assert told in said["error"]["message"]


LLAMA = b"""\
class LlamaForCausalLM:
    def forward(self, forward_batch):
        aux_hidden_states = None
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
"""


def release(console: Console, version: str, text: bytes) -> None:
    """A release that was read before: nobody is asked for it."""
    folder = console.home / "data" / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"sglang-{version}.sources.zip", "w") as archive:
        archive.writestr("sglang/srt/models/llama.py", text)


def test_a_patch_is_tried_on_releases_without_a_node(console):
    assert console.run("patch", "new", "my-rows")[0] == 0
    release(console, "0.0.1", LLAMA)
    release(console, "0.0.2", b"class LlamaForCausalLM:\n    pass\n")
    release(console, "0.0.3", LLAMA + LLAMA.split(b"\n", 1)[1])
    words = ("patch", "test", "my-rows", "--wheel", "0.0.1", "--wheel", "0.0.2")
    code, told, narration = console.run(*words, "--explain")
    assert code == 0, narration
    states = {
        each["version"]: [(one["path"], one["state"], one["faults"]) for one in each["files"]]
        for each in told["releases"]
    }
    assert states["0.0.1"] == [
        ("srt/_spec_console_user_my_rows.py", "appliable", []),
        ("srt/models/llama.py", "appliable", []),
    ]
    assert [state for _, state, _ in states["0.0.2"]] == ["not-applicable", "not-applicable"]
    (anchor,) = told["explained"][0]["anchors"]
    assert (anchor["path"], anchor["line"]) == ("srt/models/llama.py", 4)

    code, told, _ = console.run(*words, "--wheel", "0.0.3")
    assert code == 1
    assert "is there 2 times" in told["releases"][2]["files"][1]["why"]
    code, told, _ = console.run("patch", "test", "eagle3-shapes", "--wheel", "0.0.1", "--file", "srt/models/llama.py")
    assert code == 0
    assert [one["path"] for one in told["releases"][0]["files"]][1:] == ["srt/models/llama.py"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("eagle3-shape", "--wheel", "0.0.1"), "there is no patch 'eagle3-shape'"),
        (("eagle3-shapes", "--wheel", "../x"), "'../x' is no version of a release"),
        (("eagle3-shapes", "--wheel", "0.0.1", "--file", "srt/x.py"), "eagle3-shapes knows no file 'srt/x.py'"),
    ],
)
def test_what_cannot_be_tried_is_told(console, words, told):
    release(console, "0.0.1", LLAMA)
    code, said, _ = console.run("patch", "test", *words)
    assert code == 2
    assert told in said["error"]["message"]
