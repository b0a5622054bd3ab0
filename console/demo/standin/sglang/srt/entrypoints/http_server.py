"""SIMULATED: serve on loopback, warm up, say so, and drain on SIGTERM."""

import errno
import http.client
import json
import os
import socketserver
import time

from sglang.srt.entrypoints.engine import Engine
from sglang.srt.entrypoints.generation import Batch
from sglang.srt.entrypoints.routes import Handler
from sglang.standin import log
from sglang.standin.signals import StopRequest, start_thread

_LOOPBACK = "127.0.0.1"
_DRAIN_S = 60.0
_EXIT_STARTUP_FAILED = 3
"""uvicorn's exit code when it cannot bind."""


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, server_args, engine):
        self.args, self.engine = server_args, engine
        self.batch = Batch(server_args, engine)
        self.ready = False
        self.draining = False
        self.created = int(time.time())
        super().__init__((_LOOPBACK, server_args.port), Handler)

    def handle_error(self, request, client_address):
        """A client that went away is no event."""


def launch_server(server_args):
    """Run until told to stop; return the exit code."""
    log.line("server_args=%r" % server_args)
    engine = Engine(server_args)
    if not engine.start():
        return 1
    log.line("INFO:     Started server process [%d]" % os.getpid())
    log.line("INFO:     Waiting for application startup.")
    log.line("INFO:     Application startup complete.")
    try:
        server = Server(server_args, engine)
    except OSError as error:
        _say_no_port(server_args, error)
        engine.stop()
        return _EXIT_STARTUP_FAILED
    stop = StopRequest(engine.expect_deaths)
    engine.serving = True
    _serve(server, stop)
    engine.stop()
    return 0


def _serve(server, stop):
    args = server.args
    start_thread(server.serve_forever, 5.0)
    if args.host not in (_LOOPBACK, "localhost"):
        log.line("[spec-console] SIMULATED server: asked to listen on %s, listens on %s only" % (args.host, _LOOPBACK))
    log.line("INFO:     Uvicorn running on http://%s:%d (Press CTRL+C to quit)" % (_LOOPBACK, args.port))
    if not args.skip_server_warmup:
        _warm_up(args)
    server.ready = True
    log.line("The server is fired up and ready to roll!")
    stop.wait()
    server.draining = True
    log.line("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
    give_up = time.monotonic() + _DRAIN_S
    while server.batch.running and time.monotonic() < give_up:
        time.sleep(0.02)
    log.line(
        "Gracefully exiting... Remaining number of requests %d. Remaining requests remaining_rids=[]."
        % server.batch.running
    )


def _warm_up(args):
    _ask(args, "GET", "/model_info", None)
    body = {"text": "The capital city of France is", "sampling_params": {"temperature": 0, "max_new_tokens": 8}}
    _ask(args, "POST", "/generate", body)


def _ask(args, method, path, body, timeout=600):
    headers = {"Content-Type": "application/json"}
    if args.api_key:
        headers["Authorization"] = "Bearer " + args.api_key
    connection = http.client.HTTPConnection(_LOOPBACK, args.port, timeout=timeout)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def _say_no_port(args, error):
    """uvicorn's words. SGLang's warm-up asks whoever holds the port, and may find it fired up and ready to roll."""
    why = "address already in use" if error.errno == errno.EADDRINUSE else (error.strerror or str(error)).lower()
    log.line(
        "ERROR:    [Errno %s] error while attempting to bind on address ('%s', %d): %s"
        % (error.errno, _LOOPBACK, args.port, why)
    )
    log.line("INFO:     Waiting for application shutdown.")
    try:
        if _ask(args, "GET", "/model_info", None, timeout=0.5) == 200:
            log.line("The server is fired up and ready to roll!")
    except (OSError, http.client.HTTPException):
        pass
    log.line("INFO:     Application shutdown complete.")
