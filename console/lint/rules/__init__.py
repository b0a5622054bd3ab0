"""One rule a file; the stem, with hyphens, is the rule's id. It has one or more of three functions. To add one:

\"\"\"What is wrong when it finds something.\"\"\"
RULE = Rule(id="my-rule", title=…, why=…, source=…)

def check(launch: Launch) -> Iterator[Finding]:             # from the command line and files, without a node
def check_node(context: LaunchContext) -> Iterator[Finding]:  # from what the node says
def explain(log: LogContext) -> Iterator[Finding]:          # from the log of a server that ran
    if ...:
        yield RULE.error("what is wrong", "what to do", "the evidence")

A fact that can be found before a launch and in its log is one rule, with both functions. A rule over logs quotes its
lines: `yield quoting(RULE.error(…), record)`. `explain_rest` is asked where no rule has found an error.
"""
