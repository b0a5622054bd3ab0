"""Everything that a user can ask of a node: plan → show → run → re-read. One action a file.

    @dataclass(frozen=True, slots=True)
    class XPlan: ...        # lines() says what will happen; nothing has changed yet
    @dataclass(frozen=True, slots=True)
    class XOutcome: ...     # ok, lines(), to_json(): what was measured afterwards

    async def plan(node: Node, request: XRequest) -> XPlan: ...
    async def run(node: Node, plan: XPlan, say: Say) -> XOutcome: ...

Command line and TUI are both callers of these two functions.
"""
