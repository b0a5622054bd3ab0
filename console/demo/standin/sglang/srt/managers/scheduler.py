"""SIMULATED: one rank. It loads, says so in SGLang's words, then runs a forward pass whenever the launcher asks.

Commands come as lines: `prefill ROWS`, `cycle BATCH`, `peer_lost`. Only `prefill` is answered. The end of the pipe is
the end of the rank.
"""

import json
import os
import random
import signal
import time

from sglang.srt.model_executor.model_runner import ModelRunner
from sglang.standin import faults, log, titles
from sglang.standin import tensor as torch

_GIB = 1 << 30
_FREE_GB = 138.2
_WEIGHTS_GB = 74.3
_DRAFT_GB = 0.5
_SHARDS = 64


class Scheduler:
    def __init__(self, order):
        self.order = order
        self.rank = order["rank"]
        self.random = random.Random(self.rank)
        self.avail = _FREE_GB - 0.05 * self.random.random()
        self.runner = ModelRunner(self.rank)

    def log(self, message):
        log.line(message, None if self.order["tp_size"] == 1 else self.rank)

    def work(self, share):
        """Pass the time that a part of the loading takes, a little different on each rank; return the seconds."""
        seconds = self.order["load_s"] * share * (1.0 + 0.08 * self.random.random())
        time.sleep(seconds)
        return seconds

    def load(self):
        if self.order["gpu_id"] is None:
            raise RuntimeError("CUDA error: invalid device ordinal")
        self.init_distributed(0.12)
        self.load_weights(self.order["model_path"], 0.42, self.runner.load_target, _WEIGHTS_GB)
        self.allocate_pool(self.order["mem_fraction"] * _FREE_GB - _WEIGHTS_GB)
        if self.order["draft_path"]:
            self.load_draft()
        if self.order["graph_bs"]:
            self.capture_graphs()
        if self.rank == 0:
            self.log(
                "max_total_num_tokens=%d, chunked_prefill_size=%d, max_prefill_tokens=16384, max_running_requests=%d, "
                "context_len=%d, available_gpu_mem=%.2f GB"
                % (
                    self.max_tokens,
                    self.order["chunked_prefill_size"],
                    self.order["max_running_requests"],
                    self.order["context_len"],
                    self.avail,
                )
            )

    def init_distributed(self, share):
        self.log("Init torch distributed begin.")
        seconds = self.work(share)
        if self.rank == 0:
            self.log("sglang is using nccl==2.28.9")
        self.log("Init torch distributed ends. elapsed=%.2f s, mem usage=1.23 GB" % seconds)

    def load_weights(self, folder, share, load, size_gb):
        self.log("Load weight begin. avail mem=%.2f GB" % self.avail)
        load(folder)
        parts = _SHARDS if self.rank == 0 and size_gb > 1 else 1
        seconds = 0.0
        for at in range(0, parts, max(1, parts // 4)):
            if parts > 1:
                log.bar("Multi-thread loading shards", at, parts, seconds)
            seconds += self.work(share / min(parts, 4))
        if parts > 1:
            log.bar("Multi-thread loading shards", parts, parts, seconds)
            log.write("\n")
        self.avail -= size_gb
        model = self.runner.draft or self.runner.target
        self.log(
            "Load weight end. elapsed=%.2f s, type=%s, avail mem=%.2f GB, mem usage=%.2f GB."
            % (seconds, type(model).__name__, self.avail, size_gb)
        )

    def allocate_pool(self, size_gb):
        if size_gb <= 0:
            raise RuntimeError("Not enough memory. Please try to increase --mem-fraction-static.")
        text = self.runner.target.config.text()
        latent = getattr(text, "kv_lora_rank", 512) + getattr(text, "qk_rope_head_dim", 64)
        self.max_tokens = int(size_gb * _GIB / (text.num_hidden_layers * latent * 2))
        if self.rank == 0:
            self.log("Using KV cache dtype: torch.bfloat16")
        self.work(0.03)
        self.avail -= size_gb
        self.log("KV Cache is allocated. #tokens: %d, KV size: %.2f GB" % (self.max_tokens, size_gb))
        self.log("Memory pool end. avail mem=%.2f GB" % self.avail)

    def load_draft(self):
        order = self.order

        def load(folder):
            self.runner.load_draft(folder, order["algorithm"], order["steps"], order["draft_tokens"])
            if faults.rank_of_widths() == self.rank:
                self.runner.capture_one_layer()

        self.load_weights(order["draft_path"], 0.08, load, _DRAFT_GB)

    def capture_graphs(self):
        """Capture runs the Python code once for each batch size; a replay, later, does not."""
        runner = self.runner
        if runner.draft is None:
            self.capture("cuda graph", 0.24, runner.cycle)
            return
        width = self.draft_width()

        def extend(batch_size):
            rows = batch_size * runner.draft_tokens
            runner.draft_extend(batch_size, torch.Tensor((rows, width), torch.bfloat16, runner.device))

        self.capture("cuda graph", 0.16, runner.verify)
        self.capture("draft cuda graph", 0.05, runner.draft_decodes)
        self.capture("draft extend cuda graph", 0.04, extend)

    def draft_width(self):
        """As wide as the draft's fc wants; one state alone when nothing is captured."""
        if self.runner.captured_outputs() is None:
            return self.runner.target.config.text().hidden_size
        return self.runner.draft.model.fc.in_features

    def capture(self, what, share, run):
        sizes = self.order["graph_bs"]
        self.log("Capture %s begin. This can take up to several minutes. avail mem=%.2f GB" % (what, self.avail))
        if self.rank == 0:
            self.log("Capture cuda graph bs %s" % sizes)
        seconds = 0.0
        for at, batch_size in enumerate(reversed(sizes)):
            if self.rank == 0:
                name = "Capturing batches (bs=%d avail_mem=%.2f GB)" % (batch_size, self.avail)
                log.bar(name, at, len(sizes), seconds)
            run(batch_size)
            seconds += self.work(share / len(sizes))
        if self.rank == 0:
            name = "Capturing batches (bs=%d avail_mem=%.2f GB)" % (sizes[0], self.avail)
            log.bar(name, len(sizes), len(sizes), seconds)
            log.write("\n")
            self.log("Registering 0 cuda graph addresses")
        self.avail -= 0.3
        self.log(
            "Capture %s end. Time elapsed: %.2f s. mem usage=0.30 GB. avail mem=%.2f GB." % (what, seconds, self.avail)
        )

    def obey(self, command, number):
        if command == "prefill":
            self.runner.prefill(number)
        elif command == "cycle":
            self.runner.cycle(number)
        elif command == "peer_lost":
            raise RuntimeError(
                "[gloo/transport/tcp/pair.cc:538] Read error [127.0.0.1]:45744: Connection reset by peer"
            )


def run_scheduler_process(text):
    """The whole life of a rank; `text` is the launcher's order as JSON."""
    order = json.loads(text)
    titles.set_comm(order["title"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    commands, replies = open(order["commands"], encoding="ascii"), open(order["replies"], "w", encoding="ascii")
    scheduler = Scheduler(order)

    def reply(value):
        replies.write(json.dumps(value) + "\n")
        replies.flush()

    try:
        scheduler.load()
        reply({"captured": scheduler.runner.captured_outputs(), "max_total_num_tokens": scheduler.max_tokens})
        for line in commands:
            command, _, number = line.strip().partition(" ")
            scheduler.obey(command, int(number or 0))
            if command == "prefill":
                reply({})
    except BrokenPipeError:
        return
    except Exception:
        import traceback

        scheduler.log("Scheduler hit an exception: " + traceback.format_exc())
        os.kill(os.getppid(), signal.SIGQUIT)
        signal.pause()
