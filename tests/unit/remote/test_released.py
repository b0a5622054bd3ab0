"""Reading released wheels through the real pip, from an index of files."""

from __future__ import annotations

import zipfile

import pytest

from console.errors import NegativeResult, UsageError
from console.remote import released
from tests import installed

LLAMA = "srt/models/llama.py"


@pytest.fixture
def index(tmp_path, monkeypatch) -> str:
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return installed.index(tmp_path / "index", "9.0.1", "9.0.2", "9.1.0")


async def test_files_of_a_release_are_read_and_kept(index, tmp_path):
    cache, wanted = tmp_path / "cache", [installed.BIG, "srt/none.py"]
    found = await released.read("9.0.2", wanted, index_url=index, cache=cache)
    assert found == {installed.BIG: installed.sources("9.0.2")[installed.BIG], "srt/none.py": None}
    again = await released.read("9.0.2", wanted, index_url="file:///nowhere", cache=cache)
    assert again == found, "the second time nobody is asked"


async def test_a_broken_cache_is_fetched_again(index, tmp_path):
    await released.read("9.0.2", [], index_url=index, cache=tmp_path)
    (kept,) = tmp_path.glob("*.zip")
    kept.write_bytes(kept.read_bytes()[:1000])
    found = await released.read("9.0.2", ["__init__.py"], index_url=index, cache=tmp_path)
    assert found["__init__.py"] == installed.sources("9.0.2")["__init__.py"]


async def test_a_version_that_is_not_there_is_told_with_near_ones(index, tmp_path):
    with pytest.raises(UsageError, match=r"no wheel of sglang 9\.0\.3") as told:
        await released.read("9.0.3", [], index_url=index, cache=tmp_path / "cache")
    assert "9.0.2" in told.value.hint
    assert "newest: 9.1.0" in told.value.hint
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("version", ["", "9.0 ; x", "../9", "9.0,>1", "-r", "9.*"])
async def test_what_is_no_version_does_not_reach_pip(version, tmp_path):
    with pytest.raises(UsageError, match="no version"):
        await released.read(version, [], cache=tmp_path)


async def test_an_index_that_does_not_answer_is_no_missing_version(index, tmp_path):
    with pytest.raises(NegativeResult, match=r"pip could not get sglang 9\.0\.2") as told:
        await released.read("9.0.2", [], index_url="http://127.0.0.1:9/simple", cache=tmp_path)
    assert "connection broken" in told.value.detail


async def test_one_index_that_does_not_answer_beside_one_that_does_is_no_missing_version(index, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index)
    with pytest.raises(NegativeResult, match=r"pip could not get sglang 9\.0\.3"):
        await released.read("9.0.3", [], index_url="http://127.0.0.1:9/simple", cache=tmp_path)


async def test_a_wheel_that_is_not_what_the_index_says_is_refused(index, tmp_path):
    (made,) = (tmp_path / "index").rglob("sglang-9.0.2-*.whl")
    with zipfile.ZipFile(made, "a") as archive:
        archive.writestr("sglang/srt/evil.py", "evil")
    with pytest.raises(NegativeResult) as told:
        await released.read("9.0.2", [], index_url=index, cache=tmp_path / "cache")
    assert "HASHES" in told.value.detail.upper() or "Expected sha256" in told.value.detail


async def test_the_releases_are_listed(index):
    assert await released.versions(index_url=index) == ["9.0.1", "9.0.2", "9.1.0"]
    with pytest.raises(NegativeResult, match="which releases"):
        await released.versions(index_url="http://127.0.0.1:9/simple")


async def test_a_pip_of_the_users_folder_is_not_run(index, tmp_path, monkeypatch):
    (tmp_path / "pip.py").write_text("raise SystemExit('not pip')")
    monkeypatch.chdir(tmp_path)
    assert await released.versions(index_url=index)
