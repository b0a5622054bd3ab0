"""Start: refuse an old Python, then serve the wire, supervise a child, or run a probe.

This file is also the zip's own __main__. It must parse on any Python 3, so that an old one gets a clear exit code.
"""

import sys

EXIT_PYTHON_TOO_OLD = 98

if sys.version_info < (3, 8):  # noqa: UP036 - this very check
    sys.stderr.write("spec-console agent: Python %d.%d is older than 3.8\n" % sys.version_info[:2])  # noqa: UP031
    sys.exit(EXIT_PYTHON_TOO_OLD)


def main():  # type: ignore[no-untyped-def] # annotations are younger than the check above
    mode = sys.argv[1] if len(sys.argv) > 1 else "serve"
    if mode == "supervise":
        from remote_agent.supervise import main as supervise

        return supervise(sys.argv[2])
    if mode == "probe":
        from remote_agent.probe.run import main as probe

        return probe(sys.argv[2])
    from remote_agent.start import main as serve

    return serve(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())  # type: ignore[no-untyped-call]
