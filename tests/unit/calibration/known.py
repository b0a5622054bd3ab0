"""The tables that the writer computed for Llama pairs, plain and with attention that matters: 5 steps, 400 tokens."""

from __future__ import annotations

from pathlib import Path

from console.calibration import table

FOLDER = Path(__file__).parents[2] / "data" / "calibration"
PATH = FOLDER / "expected-5-400-300.json"
TABLE = table.read(PATH.read_bytes())
POSITIONS = table.read((FOLDER / "expected-positions-5-400-300.json").read_bytes())
RIGHT = (8, 10, 7, 4, 5, 52)
EARLY = (186, 3, 2, 1, 1, 32)
BLIND = (85, 8, 7, 6, 5, 38)
"""With POSITIONS: the target's attention finds nothing."""
