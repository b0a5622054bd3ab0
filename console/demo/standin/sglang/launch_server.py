"""SIMULATED: `python -m sglang.launch_server`. Parse, load, serve, drain."""

import sys

from sglang.standin import faults, log


def main(argv):
    log.line(log.BANNER, bare=True)
    from sglang.srt.server_args import ArgumentsRefused, prepare_server_args

    try:
        server_args = prepare_server_args(argv)
    except ArgumentsRefused as refused:
        log.line(refused.traceback(), bare=True)
        return 1
    try:
        fault = faults.told(server_args.tp_size)
    except ValueError as error:
        log.line("[spec-console] SIMULATED server: %s" % error, bare=True)
        return 1
    if fault:
        log.line(fault, bare=True)
    from sglang.srt.entrypoints.http_server import launch_server

    return launch_server(server_args)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
