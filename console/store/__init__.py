"""The journal of runs and actions on this machine: the one home of SQLite."""

from console.store.journal import ActionRecord, Journal

__all__ = ["ActionRecord", "Journal"]
