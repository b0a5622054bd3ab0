"""The table that the writer computed for the Llama pair, 5 steps, 400 tokens."""

from __future__ import annotations

from pathlib import Path

from console.calibration import table

PATH = Path(__file__).parents[2] / "data" / "calibration" / "expected-5-400-300.json"
TABLE = table.read(PATH.read_bytes())
RIGHT = (8, 10, 7, 4, 5, 52)
EARLY = (186, 3, 2, 1, 1, 32)
