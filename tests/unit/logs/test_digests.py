"""What digest records say together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console.logs.digests import DigestFinding
from tests.unit.logs.samples import history, told


def call(site: str, seq: int, sums: tuple[str, ...], rows: int = 6, extra: str = "", rank: int = 0) -> str:
    model, mode = ("M", "TARGET_VERIFY") if site == "target.aux" else ("MEagle3", "DRAFT_EXTEND_V2")
    return "".join(
        f"[EAGLE3_DIGEST] site={site} rank={rank} model={model} mode={mode} seq={seq} state={at} of={len(sums)} "
        f"rows={rows} width=1024 mean=0.1 absmax=1 nan=0 sum32={one}{extra}\n"
        for at, one in enumerate(sums)
    )


def found(text: str) -> list[tuple[str, str, int, int]]:
    return [(one.kind, one.text, one.count, one.of) for one in told(text).digests.findings()]


A, B, C = "0a", "0b", "0c"


def test_states_that_arrive_as_captured_are_nothing_to_tell():
    kept = told(call("target.aux", 1, (A, B, C)) + call("draft.fc_in", 2, (A, B, C), extra=" embed=0"))
    assert (kept.digests.findings(), kept.digests.compared) == ((), 1)


def test_states_captured_twice():
    text = call("target.aux", 1, (A, B, B)) + call("target.aux", 2, (A, B, C))
    assert found(text) == [("equal-states", "states 1 and 2 are the same", 1, 2)]


def test_other_states_and_another_order():
    text = call("target.aux", 1, (A, B, C)) + call("draft.fc_in", 2, (A, C, B))
    text += call("target.aux", 3, (A, B, C)) + call("draft.fc_in", 4, (A, B, "ff"))
    assert sorted(found(text)) == [
        ("sums-differ", "other states arrive than were captured", 1, 2),
        ("sums-differ", "the captured states arrive in another order", 1, 2),
    ]


def test_calls_of_other_sizes_and_other_ranks_are_not_compared():
    text = call("target.aux", 1, (A, B, C)) + call("draft.fc_in", 2, (A, B, "ff"), rows=3)
    text += call("draft.fc_in", 3, (A, B, "ff"), rank=1)
    kept = told(text)
    assert (kept.digests.findings(), kept.digests.compared) == ((), 0)


def test_only_the_next_call_of_the_draft_is_held_against_a_capture():
    text = call("target.aux", 1, (A, B, C)) + call("draft.fc_in", 2, (A, B, C)) + call("draft.fc_in", 3, (A, B, "ff"))
    kept = told(text)
    assert (kept.digests.findings(), kept.digests.compared) == ((), 1)


def test_a_captured_embedding_shows_by_its_share():
    text = call("draft.fc_in", 1, (A, B, C), extra=" embed=5")
    assert {one[:2] for one in found(text)} == {
        ("embedding", f"state {state} is the embedding of its own tokens") for state in range(3)
    }
    assert found(call("draft.fc_in", 1, (A, B, C), extra=" embed=1")) == []
    assert found(call("draft.fc_in", 1, (A, B, C), rows=100, extra=" read=8 embed=7")) != []


def test_nans_are_told_with_the_first_place():
    text = call("target.aux", 1, (A,)) + call("target.aux", 2, (A,)).replace("nan=0", "nan=3") * 2
    (finding,) = told(text).digests.findings()
    assert finding == DigestFinding(
        "not-finite", "target.aux", "state 0 holds NaNs", len(call("target.aux", 1, (A,))), 2, 3
    )


def test_a_capture_into_a_graph_is_said():
    kept = told("[EAGLE3_DIGEST] site=target.aux rank=0 model=M mode=TARGET_VERIFY seq=1 capturing=yes\n")
    assert (kept.digests.capturing, kept.digests.findings()) == (True, ())


def test_the_cpu_server_s_states_arrive():
    kept = history("sglang_cpu/tp2-digest-cycle.log")
    assert (kept.digests.findings(), kept.digests.compared, kept.digests.records) == ((), 10, 60)


@given(st.lists(st.builds(call, st.sampled_from(["target.aux", "draft.fc_in", "x"]), st.integers(0, 3),
                          st.lists(st.sampled_from([A, B, "-"]), min_size=1, max_size=4).map(tuple)), max_size=12),
       st.randoms())  # fmt: skip
def test_lines_in_any_order_never_raise_and_counts_add_up(calls: list[str], random):
    lines = "".join(calls).splitlines(keepends=True)
    random.shuffle(lines)
    for one in told("".join(lines)).digests.findings():
        assert 0 < one.count <= one.of * 4
