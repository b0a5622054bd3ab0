"""SIMULATED: the detokenizer. It has nothing to do and stays until its pipe ends."""

import json
import signal

from sglang.standin import titles


def run_detokenizer_process(text):
    order = json.loads(text)
    titles.set_comm(order["title"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with open(order["commands"], encoding="ascii") as commands:
        commands.read()
