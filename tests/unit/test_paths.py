"""Where files live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console import paths

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_everything_goes_under_the_home_variable(tmp_path: Path) -> None:
    found = paths.locate({"SPEC_CONSOLE_HOME": str(tmp_path / "home")}, tmp_path / "work")
    assert {found.config.parent, found.data.parent, found.state.parent} == {tmp_path / "home"}
    assert found.nodes_file == tmp_path / "home" / "config" / "nodes.yaml"
    assert not (tmp_path / "home").exists(), "looking creates nothing"


def test_profiles_are_looked_for_here_then_in_the_config_then_in_the_shipped(tmp_path: Path) -> None:
    found = paths.locate({"SPEC_CONSOLE_HOME": str(tmp_path)}, tmp_path / "work")
    here, config, shipped = found.profiles
    assert here == tmp_path.resolve() / "work" / "profiles"
    assert config == found.config.resolve() / "profiles"
    assert shipped == paths.shipped_profiles()
    assert (shipped / "kimi-k2.5-baseline.yaml").is_file()


def test_a_checkout_is_not_looked_through_twice() -> None:
    shipped = paths.shipped_profiles()
    found = paths.locate({"SPEC_CONSOLE_HOME": "/nowhere"}, shipped.parent)
    assert found.profiles.count(shipped) == 1


def test_without_the_variable_the_users_own_folders_are_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    found = paths.locate({}, tmp_path)
    assert found.config.name == found.data.name == found.state.name == "spec-console"
    assert len({found.config, found.data, found.state}) == 3
