"""The catalog: every patch is well formed, and its lines are what they should be."""

from __future__ import annotations

import ast

import pytest

from console import registry
from console.patches import catalog, library

PATCHES = sorted(library.patches().values(), key=lambda patch: patch.id)


def test_every_module_of_the_catalog_is_the_patch_of_its_name() -> None:
    assert [name.replace("_", "-") for name in registry.stems(catalog)] == sorted(library.patches())


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.id)
class TestEveryPatch:
    def test_its_module_says_what_it_is_for(self, patch: library.Patch) -> None:
        module = registry.modules(catalog)[patch.id.replace("-", "_")]
        assert module.__doc__
        assert patch.title

    def test_paths_are_relative_and_named_once(self, patch: library.Patch) -> None:
        paths = [patch.helper.path, *(edit.path for edit in patch.edits)]
        assert len(set(paths)) == len(paths)
        assert all(path.startswith("srt/") and ".." not in path and "\\" not in path for path in paths)

    def test_only_files_of_a_model_have_architectures(self, patch: library.Patch) -> None:
        assert all(bool(edit.architectures) == (edit.role != "always") for edit in patch.edits)

    def test_inserted_lines_are_one_line_of_ascii_that_old_pythons_parse(self, patch: library.Patch) -> None:
        for insert in (insert for edit in patch.edits for insert in edit.inserts):
            code = patch.code(insert)
            above = "def f(): pass" if insert.where == "decorate" else ""
            ast.parse(f"{code}\n{above}", feature_version=(3, 8))
            assert code.isascii()
            assert "\n" not in code
            assert code.endswith(patch.mark)
            assert insert.site in (insert.call if insert.where != "decorate" else f"cycle.{insert.call}")

    def test_what_it_calls_is_in_its_runtime_file(self, patch: library.Patch) -> None:
        tree = ast.parse(patch.helper.text, feature_version=(3, 8))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        called = {insert.function for edit in patch.edits for insert in edit.inserts}
        assert called <= functions

    def test_its_runtime_file_needs_the_standard_library_only(self, patch: library.Patch) -> None:
        imports = {
            (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
            for node in ast.walk(ast.parse(patch.helper.text))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        assert imports <= {"collections", "functools", "itertools", "os", "re", "select", "sys", "time"}

    def test_its_runtime_file_is_told_by_its_first_line(self, patch: library.Patch) -> None:
        assert patch.helper.heading.decode() == f"# spec-console runtime: {patch.id}"
        assert patch.helper.module.startswith("sglang.srt._spec_console_")

    def test_its_options_are_told_and_read_by_its_runtime_file(self, patch: library.Patch) -> None:
        switch, *others = library.options(patch)
        assert (switch.env, switch.default) == (patch.env, "0")
        told = " ".join((ast.get_docstring(ast.parse(patch.helper.text)) or "").split())
        for option in others:
            assert option.env in told
            assert f"{option.env} ({option.default}" in told or not option.default
            assert option.meaning

    def test_its_runtime_file_is_one_file(self, patch: library.Patch) -> None:
        assert b"console.patches" not in patch.helper.text
        names = [
            node.name for node in ast.parse(patch.helper.text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
        assert len(set(names)) == len(names), "what the runtime files share would be hidden"
        assert "Channel" in names


def test_a_line_does_nothing_while_the_variable_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    patch = library.patches()["eagle3-shapes"]
    for insert in (insert for edit in patch.edits for insert in edit.inserts):
        for value in ("0", "", None):
            monkeypatch.delenv(patch.env, raising=False)
            if value is not None:
                monkeypatch.setenv(patch.env, value)
            exec(patch.code(insert), {})  # would raise: nothing that it names is there
        monkeypatch.setenv(patch.env, "1")
        with pytest.raises(ModuleNotFoundError, match="sglang"):
            exec(patch.code(insert), {})
