"""The agent's command line."""

from __future__ import annotations

import argparse
from typing import List


def parse(argv: List[str]) -> argparse.Namespace:
    """Read the options of `serve`; see each help text."""
    parser = argparse.ArgumentParser(prog="spec-console-agent", allow_abbrev=False)
    parser.add_argument("--state-dir", help="where run directories, ledger and originals lie")
    parser.add_argument("--lock-dir", help="where the writer lock lies")
    parser.add_argument("--gpu-source", choices=("auto", "nvml", "smi", "none"), default="auto")
    parser.add_argument("--nvidia-smi", default="nvidia-smi", help="the program that --gpu-source smi runs")
    parser.add_argument("--readonly", default="", metavar="REASON", help="refuse every change, with this reason")
    return parser.parse_args(argv)
