"""SIMULATED: the HTTP endpoints that spec-console uses."""

import json
import secrets
from contextlib import closing
from http.server import BaseHTTPRequestHandler

from sglang.srt.entrypoints.meta_info import Answer
from sglang.standin import log, tokens
from sglang.version import __version__

_BODY_CAP = 16 << 20
_OPEN = ("/health", "/metrics")
_DEFAULT_NEW_TOKENS = 128


class BadRequest(Exception):
    pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "uvicorn-simulated"
    sys_version = ""
    disable_nagle_algorithm = True

    def do_GET(self):
        self._route("GET")

    def do_POST(self):
        self._route("POST")

    def log_message(self, format, *args):
        """The access line is written with the status, in uvicorn's form."""

    def _route(self, method):
        path = self.path.partition("?")[0]
        try:
            body = self._body()
            if not self._allowed(path):
                return self._json({"error": "Unauthorized"}, 401)
            action = _ROUTES.get((method, path))
            if action is None:
                return self._json({"detail": "Not Found"}, 404)
            return action(self, body)
        except BadRequest as error:
            return self._json({"error": {"message": str(error)}}, 400)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _body(self):
        length = int(self.headers.get("Content-Length") or 0)
        if length > _BODY_CAP:
            self.close_connection = True
            raise BadRequest("The body is too long.")
        raw = self.rfile.read(length)
        if not raw:
            return {}
        try:
            body = json.loads(raw)
        except ValueError:
            raise BadRequest("The body is not JSON.") from None
        return body if isinstance(body, dict) else {}

    def _allowed(self, path):
        key = self.server.args.api_key
        if not key or path.startswith(_OPEN):
            return True
        given = self.headers.get("Authorization", "")
        return secrets.compare_digest(given.encode("utf-8"), ("Bearer " + key).encode("utf-8"))

    def _access(self, status):
        reason = self.responses[status][0]
        client = "%s:%d" % self.client_address[:2]
        log.line('INFO:     %s - "%s %s HTTP/1.1" %d %s' % (client, self.command, self.path, status, reason))

    def _send(self, status, data, kind):
        self._access(status)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _json(self, value, status=200):
        self._send(status, json.dumps(value).encode("utf-8"), "application/json")

    def _text(self, value, status=200):
        self._send(status, value.encode("utf-8"), "text/plain; charset=utf-8")

    # Endpoints

    def health(self, body):
        """Like SGLang's, it costs a generation of one token."""
        if not self.server.ready or self.server.draining:
            return self._text("", 503)
        with closing(self.server.batch.generate([0], 1)) as chunks:
            next(chunks)
        return self._text("")

    def models(self, body):
        args = self.server.args
        card = {"id": args.served_model_name, "object": "model", "created": self.server.created, "owned_by": "sglang"}
        card.update(root=args.served_model_name, parent=None, max_model_len=args._context_len, simulated=True)
        self._json({"object": "list", "data": [card]})

    def model_info(self, body):
        args = self.server.args
        config = args._target
        self._json(
            {
                "model_path": args.model_path,
                "tokenizer_path": args.tokenizer_path,
                "is_generation": True,
                "weight_version": args.weight_version,
                "model_type": getattr(config, "model_type", None),
                "architectures": config.architectures,
                "simulated": True,
            }
        )

    def server_info(self, body):
        args, batch = self.server.args, self.server.batch
        info = args.values()
        for name in ("api_key", "admin_api_key"):
            info[name] = "******" if info.get(name) else None
        state = {"last_gen_throughput": round(batch.last_gen_throughput, 2)}
        if args.speculative:
            state["avg_spec_accept_length"] = batch.accept_length()
        info.update(
            status="ready" if self.server.ready else "starting",
            max_total_num_tokens=self.server.engine.max_total_num_tokens,
            max_req_input_len=args._context_len - 6,
            internal_states=[state],
            version=__version__,
            simulated=True,
        )
        self._json(info)

    def old_server_info(self, body):
        log.line(
            "Endpoint '/get_server_info' is deprecated and will be removed in a future version. "
            "Please use '/server_info' instead."
        )
        self.server_info(body)

    def flush_cache(self, body):
        done = self.server.batch.flush_cache()
        words = (
            "Cache flushed.\nPlease check backend logs for more details. (When there are running or waiting requests, "
            "the operation will not be performed.)\n"
        )
        self._text(words, 200 if done else 400)

    def metrics(self, body):
        if not self.server.args.enable_metrics:
            return self._json({"detail": "Not Found"}, 404)
        batch = self.server.batch
        lines = ["# SIMULATED", "sglang:gen_throughput %.2f" % batch.last_gen_throughput]
        lines.append("sglang:num_running_reqs %d" % batch.running)
        if batch.accept_length() is not None:
            lines.append("sglang:spec_accept_length %.4f" % batch.accept_length())
        return self._text("\n".join(lines) + "\n")

    def generate(self, body):
        if self.server.draining:
            return self._json({"error": {"message": "The server is shutting down."}}, 503)
        ids = self._prompt(body)
        params = body.get("sampling_params") or {}
        new_tokens = params.get("max_new_tokens", _DEFAULT_NEW_TOKENS)
        if not isinstance(new_tokens, int) or new_tokens < 1:
            raise BadRequest("max_new_tokens must be at least 1.")
        if len(ids) + new_tokens > self.server.args._context_len:
            raise BadRequest(
                "Requested token count exceeds the model's maximum context length of %d tokens."
                % self.server.args._context_len
            )
        answer = Answer(body.get("rid"), ids, new_tokens, self.server)
        if body.get("stream"):
            return self._stream(answer)
        for _ in answer.chunks():
            pass
        return self._send(200, answer.json(), "application/json")

    def _prompt(self, body):
        ids, text = body.get("input_ids"), body.get("text")
        if isinstance(ids, list) and ids and all(isinstance(each, int) for each in ids):
            return ids
        if isinstance(text, str):
            return tokens.encode(text, self.server.batch.vocab_size)
        raise BadRequest("Either text, input_ids or input_embeds should be provided (one prompt, no batch).")

    def _stream(self, answer):
        self._access(200)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        chunked = self.request_version != "HTTP/1.0"
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.close_connection = True
        self.end_headers()
        with closing(answer.chunks()) as chunks:
            for _ in chunks:
                self._event(answer.json(), chunked)
        self._event(b"[DONE]", chunked)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")

    def _event(self, data, chunked):
        event = b"data: " + data + b"\n\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event) if chunked else event)


_ROUTES = {
    ("GET", "/health"): Handler.health,
    ("GET", "/health_generate"): Handler.health,
    ("GET", "/v1/models"): Handler.models,
    ("GET", "/model_info"): Handler.model_info,
    ("GET", "/get_model_info"): Handler.model_info,
    ("GET", "/server_info"): Handler.server_info,
    ("GET", "/get_server_info"): Handler.old_server_info,
    ("GET", "/flush_cache"): Handler.flush_cache,
    ("POST", "/flush_cache"): Handler.flush_cache,
    ("GET", "/metrics"): Handler.metrics,
    ("POST", "/generate"): Handler.generate,
}
