"""The folder that the agent's zip is run from: what somebody else could have put there is not run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from console.errors import AgentStartFailed
from tests.e2e import ways

if TYPE_CHECKING:
    from pathlib import Path


async def starts(cache: Path) -> bool:
    async with ways.agent("local", cache_dir=str(cache)) as agent:
        return agent.session.uploaded


async def test_a_folder_of_our_own_is_used_and_made_private(tmp_path):
    assert await starts(tmp_path / "a *cache")
    assert (tmp_path / "a *cache").stat().st_mode & 0o777 == 0o700


async def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "there").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "there")
    with pytest.raises(AgentStartFailed, match="is a link, or another account can write"):
        await starts(tmp_path / "link")
    assert list((tmp_path / "there").iterdir()) == []
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(AgentStartFailed, match="is a link"):
        await starts(tmp_path / "dangling")


@pytest.mark.parametrize("mode", [0o770, 0o702])
async def test_a_folder_that_others_can_write_to_is_not_run_from(mode, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(mode)
    with pytest.raises(AgentStartFailed, match="another account can write") as caught:
        await starts(tmp_path / "cache")
    assert "chmod 700" in caught.value.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="a folder of another account needs root")
async def test_a_folder_of_another_account_is_not_run_from(tmp_path):
    (tmp_path / "cache").mkdir(mode=0o755)
    os.chown(tmp_path / "cache", 12345, -1)
    with pytest.raises(AgentStartFailed, match="another account"):
        await starts(tmp_path / "cache")
