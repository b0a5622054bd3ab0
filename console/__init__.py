"""Spec-console: a terminal operator console for GPU inference nodes."""
