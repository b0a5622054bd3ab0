"""SIMULATED: what the stand-in needs and the real SGLang does not have: shapes for tensors, a table for speeds."""
