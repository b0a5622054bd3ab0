"""What a node's configuration gives to a verb that does not connect to it."""

from __future__ import annotations


def of_node(name: str | None) -> tuple[dict[str, str] | None, dict[str, str], tuple[str, ...]]:
    """A node's variables, environment and settings; None for the variables, which then stay as written, without one.

    Raises UsageError for a node that nodes.yaml has wrong.
    """
    if name is None:
        return None, {}, ()
    from console import paths
    from console.cli._nodes import configured

    config = configured(name, paths.locate())
    return config.launch_variables(), dict(config.env), tuple(config.sets)
