"""A sweep of 2 × 2 points with its baselines, as the views that the state keeps."""

from __future__ import annotations

from dataclasses import replace

from console.state.sweep_state import BestView, SweepPointView, SweepView

RATES = {2: 91.0, 3: 94.1, 4: 60.5, 5: 61.0}


def point(number: int, steps: int, proto: str) -> SweepPointView:
    rate = RATES[number]
    return SweepPointView(
        number,
        "point",
        f"steps {steps}, NCCL_PROTO={proto}",
        "done",
        set=(("steps", str(steps)),),
        env=(("NCCL_PROTO", proto),),
        tok_s=rate,
        interval=(rate - 1.5, rate + 1.5),
        accept_len=1.94,
        verify_ms=17.2,
        elapsed_s=40.0,
        simulated=True,
    )


def baseline(number: int, state: str = "done") -> SweepPointView:
    kind = "baseline_start" if number == 1 else "baseline_end"
    label = "baseline, first" if number == 1 else "baseline, again"
    rate = 90.0 if state == "done" else None
    return SweepPointView(number, kind, label, state, tok_s=rate, simulated=state == "done")


def finished(sweep_id: str = "s20261130T010203-a1b2") -> SweepView:
    points = (point(2, 2, "Simple"), point(3, 2, "LL"), point(4, 5, "Simple"), point(5, 5, "LL"))
    return SweepView(
        sweep_id,
        1.7e9,
        "kimi-k2.5-eagle3",
        "done",
        (baseline(1), *points, baseline(6)),
        best=BestView(
            3,
            "steps 2, NCCL_PROTO=LL",
            94.1,
            (92.6, 95.6),
            "faster",
            "",
            "+4.6 % (+3.0 % to +6.1 %)",
            cant_tell_from=(2,),
        ),
        drift="baseline again against first: no drift seen, +0.1 % (-1.0 % to +1.2 %)",
    )


def walked(sweep_id: str = "s20261130T020304-c3d4") -> SweepView:
    """Two points are measured, the third is in flight, the fourth cannot be."""
    whole = finished(sweep_id)
    first, two, three, four, five, _last = whole.points
    empty = {"tok_s": None, "interval": None, "accept_len": None, "verify_ms": None, "elapsed_s": 0.0}
    points = (
        first,
        two,
        three,
        replace(four, state="running", **empty),
        replace(five, state="failed", why="[bold]the server died: no kernel image", **empty),
        baseline(6, "waiting"),
    )
    return replace(
        whole,
        state="running",
        points=points,
        drift="",
        elapsed_s=125.0,
        left_s=80.0,
        waits_for="block 2 of 5: 60.1 tok/s",
    )
