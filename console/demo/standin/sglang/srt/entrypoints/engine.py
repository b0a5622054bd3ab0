"""SIMULATED: the launcher's processes: eight ranks and a detokenizer, each on a pipe, and a watch over them."""

import json
import os
import signal
import threading
import time

from sglang.standin import log, titles
from sglang.standin.signals import start_thread

_MIB_TOTAL = 143771
_SETTLE_S = 0.3


class Child:
    def __init__(self, title, rank):
        self.title, self.rank = title, rank
        self.exit_code = None
        command_r, command_w = os.pipe()
        reply_r, reply_w = os.pipe()
        self.child_ends = (command_r, reply_w)
        self.commands = open(command_w, "w", encoding="ascii")
        self.replies = open(reply_r, encoding="ascii")

    def start(self, module, function, order, env):
        text = json.dumps(dict(order, title=self.title, commands=self.child_ends[0], replies=self.child_ends[1]))
        script = "from %s import %s\n%s(%r)\n" % (module, function, function, text)
        self.pid = titles.spawn(self.title, script, self.child_ends, env)
        for end in self.child_ends:
            os.close(end)

    def tell(self, command):
        try:
            self.commands.write(command + "\n")
            self.commands.flush()
        except (OSError, ValueError):
            pass  # It is gone; the watch deals with that.


class Engine:
    """Start, drive and end the children. A child that dies unasked takes the server with it, as in SGLang."""

    def __init__(self, server_args):
        self.server_args = server_args
        self.children = []
        self.captured = None
        self.max_total_num_tokens = 0
        self.stopping = False
        self.serving = False
        self._talk = threading.Lock()

    def start(self):
        """Start all children, then wait until each rank has loaded. Returns False when one died on the way."""
        signal.signal(signal.SIGQUIT, self._on_sigquit)
        for rank in range(self.server_args.tp_size):
            self._start_rank(rank)
        detokenizer = Child("sglang::detokenizer", None)
        detokenizer.start("sglang.srt.managers.detokenizer_manager", "run_detokenizer_process", {}, os.environ)
        self.children.append(detokenizer)
        start_thread(self._watch)
        return self._wait_loaded()

    @property
    def ranks(self):
        return self.children[:-1]

    def prefill(self, rows):
        """Run one prefill on every rank and wait for it."""
        with self._talk:
            for child in self.ranks:
                child.tell("prefill %d" % rows)
            for child in self.ranks:
                child.replies.readline()

    def cycle(self, batch_size):
        """Have every rank run one decode cycle; nobody waits."""
        with self._talk:
            for child in self.ranks:
                child.tell("cycle %d" % batch_size)

    def expect_deaths(self):
        """A stop was asked for, perhaps of the whole process group: children that die now are part of it."""
        self.stopping = True

    def stop(self):
        self.stopping = True
        with self._talk:
            for child in self.children:
                child.commands.close()
        give_up = time.monotonic() + 3.0
        while self._living() and time.monotonic() < give_up:
            time.sleep(0.01)
        self.kill()

    def kill(self):
        self.stopping = True
        for child in self._living():
            os.kill(child.pid, signal.SIGKILL)

    def _start_rank(self, rank):
        args = self.server_args
        gpu_id = _gpu_ids(args)[rank] if rank < len(_gpu_ids(args)) else None
        order = {
            "rank": rank,
            "gpu_id": gpu_id,
            "tp_size": args.tp_size,
            "load_s": float(os.environ.get("SPEC_CONSOLE_DEMO_LOAD_S", "2.4")),
            "model_path": args.model_path,
            "draft_path": args.speculative_draft_model_path if args.speculative else None,
            "algorithm": args.speculative_algorithm,
            "steps": args.speculative_num_steps or 0,
            "draft_tokens": args.speculative_num_draft_tokens or 1,
            "mem_fraction": args.mem_fraction_static,
            "graph_bs": args.cuda_graph_bs,
            "chunked_prefill_size": args.chunked_prefill_size,
            "max_running_requests": args.max_running_requests or 2048,
            "context_len": args._context_len,
        }
        # For the stub nvidia-smi, which reads it from /proc/PID/environ.
        used = min(int(_MIB_TOTAL * args.mem_fraction_static) + 3100, _MIB_TOTAL - 400)
        env = dict(os.environ, SPEC_CONSOLE_DEMO_GPU=str(-1 if gpu_id is None else gpu_id))
        env["SPEC_CONSOLE_DEMO_MIB"] = str(used)
        child = Child("sglang::scheduler" + ("_TP%d" % rank if args.tp_size > 1 else ""), rank)
        child.start("sglang.srt.managers.scheduler", "run_scheduler_process", order, env)
        self.children.append(child)

    def _wait_loaded(self):
        for child in self.ranks:
            line = child.replies.readline()
            if not line:
                time.sleep(_SETTLE_S)
                log.line(
                    "Rank %d scheduler died during initialization (exit code: %s)." % (child.rank, child.exit_code)
                )
                self.kill()
                return False
            if child.rank == 0:
                told = json.loads(line)
                self.captured, self.max_total_num_tokens = told["captured"], told["max_total_num_tokens"]
        return True

    def _living(self):
        return [child for child in self.children if child.exit_code is None]

    def _watch(self):
        by_pid = {child.pid: child for child in self.children}
        while True:
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                return
            if pid in by_pid:
                by_pid[pid].exit_code = os.waitstatus_to_exitcode(status)
                if self.serving:
                    start_thread(self._mourn, by_pid[pid])

    def _mourn(self, child):
        """A child died. Was it part of a stop (the whole group got SIGTERM)? Then say nothing."""
        time.sleep(_SETTLE_S)
        if self.stopping:
            return
        survivors = [each for each in self.ranks if each.exit_code is None]
        if child.rank is not None and survivors:
            survivors[0].tell("peer_lost")
            return
        name = "detokenizer" if child.rank is None else "scheduler_%d" % child.rank
        log.line(
            "Subprocess %s (pid=%d) crashed with exit code %d. Triggering SIGQUIT for cleanup..."
            % (name, child.pid, child.exit_code)
        )
        os.kill(os.getpid(), signal.SIGQUIT)

    def _on_sigquit(self, signum, frame):
        time.sleep(_SETTLE_S)  # The other ranks fail too, and say so.
        if self.serving:
            log.line("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
        else:
            log.line("Received sigquit from a child process. It usually means the child failed.")
        self.kill()
        os.kill(os.getpid(), signal.SIGKILL)


def _gpu_ids(args):
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    ids = list(range(8)) if visible is None else [int(each) for each in visible.split(",") if each.strip().isdigit()]
    return [each for each in ids[args.base_gpu_id :: args.gpu_id_step or 1] if each < 8]
