"""Owns the calibration pair: a tiny target and EAGLE-3 draft whose acceptance is known, what faults of wiring make of
it, and the verdict on what a server gave. Pure, but for `runtime/`, which the serving Python of a node runs.
"""
