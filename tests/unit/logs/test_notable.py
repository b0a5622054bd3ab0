"""What is kept of a log that never ends, and figures of numbers that come for ever."""

from __future__ import annotations

from statistics import median

from hypothesis import given
from hypothesis import strategies as st

from console.logs.notable import FIRST_LIMIT, LAST_LIMIT
from console.logs.rates import ToldByRates, told_by_rates
from console.logs.series import SAMPLE_LIMIT, Series
from tests.unit.logs.samples import history, told

BEGIN = "[2026-01-05 10:00:00 TP0] Load weight begin. avail mem={}.00 GB\n"


def test_the_first_and_the_last_of_a_kind_are_kept_in_order():
    kept = told("".join(BEGIN.format(n) for n in range(1000)))
    numbers = [record.fields["avail_mem_gb"] for record in kept.notable.records()]
    assert numbers == [*range(FIRST_LIMIT), *range(1000 - LAST_LIMIT, 1000)]


def test_the_frames_above_an_exception_are_kept_with_it():
    kept = history("cases/B05-unbalanced-draft.log")
    (failure,) = [each for each in kept.notable.records() if each.fields.get("cause") == "unbalanced_memory"]
    assert [frame.rpartition("/")[2] for frame in kept.notable.frames(failure.offset)] == [
        "eagle_worker.py:47",
        "model_runner.py:280",
    ]


def test_ranks_that_spoke_are_counted_against_those_that_there_are():
    assert history("h200/tp4-eagle3.log").ranks == "4/4"
    assert history("cases/D08-interleaved.log").ranks == "3/6"
    assert told("no rank\n").ranks is None


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300))
def test_a_series_tells_what_the_numbers_tell(numbers: list[float]):
    series = Series()
    for number in numbers:
        series.add(number)
    said = series.to_json()
    assert said == {
        "first": numbers[0],
        "last": numbers[-1],
        "min": min(numbers),
        "median": round(median(numbers), 4),
        "max": max(numbers),
        "count": len(numbers),
    }


def test_a_long_series_stays_small_and_its_median_close():
    series = Series()
    for number in range(200_000):
        series.add(float(number % 1000))
    series.add(float("nan"))
    said = series.to_json()
    assert said is not None
    assert (said["count"], said["last"]) == (200_000, 999.0)
    assert abs(said["median"] - 499.5) < 10
    assert len(series._sample) <= SAMPLE_LIMIT
    assert Series().to_json() is None


def test_printed_rates_tell_the_formula_and_the_draft_tokens():
    assert told_by_rates([(1.0, 0.25)]) == ToldByRates("with_bonus", 4)
    assert told_by_rates([(1.0, 0.11)]) == ToldByRates("with_bonus", 9)
    assert told_by_rates([(1.0, 0.0)]) == ToldByRates("strict", None)
    assert told_by_rates([(3.67, 0.54), (3.52, 0.51), (2.1, 0.22)]).formula == "strict"
    assert told_by_rates([(2.0, 0.9)]) == ToldByRates()
    assert told_by_rates([]) == ToldByRates()


@given(st.integers(2, 16), st.booleans(), st.data())
def test_the_right_formula_is_never_ruled_out(tokens: int, strict: bool, data: st.DataObject):
    lengths = data.draw(st.lists(st.integers(100, tokens * 100), min_size=1, max_size=20))
    pairs = [
        (length / 100, round((length / 100 - 1) / (tokens - 1) if strict else length / 100 / tokens, 2))
        for length in lengths
    ]
    said = told_by_rates(pairs)
    assert said.draft_tokens in {None, tokens}
    assert said.formula in {None, "strict" if strict else "with_bonus"}
