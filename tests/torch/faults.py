"""Blocks that sleep, trained by train_orders.py, with faults in how PyTorch passes tensors: links that
are slow, hosts that sleep.

A tensor occupies a slow link for a stated time, one after the other, from when gloo has moved it: that
is once both of its ends have come to it. A host sleeps before it posts what it sends and receives.
Importing this needs PyTorch.
"""

import contextlib
import io
import os
import sys
import threading
import time

import torch.distributed as dist
from torch.distributed.pipelining import schedules as pipelining

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)),
                             "../../experiments/measure/torch_runs"))
import train_orders  # noqa: E402


class Faults:
    """Stands for how the module passes tensors, inside `with`. `seconds_of_link(source, target)` is how
    long a link takes, `seconds_of_host(rank)` how long a host sleeps."""

    def __init__(self, seconds_of_link, seconds_of_host):
        self.seconds_of_link, self.seconds_of_host = seconds_of_link, seconds_of_host
        self.free, self.lock = {}, threading.Lock()

    def __enter__(self):
        self.moves, pipelining._batch_p2p = pipelining._batch_p2p, self.batch

    def __exit__(self, *_):
        pipelining._batch_p2p = self.moves

    def batch(self, ops, desc=None):
        own = dist.get_rank()
        time.sleep(self.seconds_of_host(own))
        ways = tuple((own, op.peer) if op.op.__name__ == "isend" else (op.peer, own) for op in ops)
        seconds = max((self.seconds_of_link(*way) for way in ways), default=0)
        works = self.moves(ops, desc)
        return [Carried(self, ways, seconds, work) for work in works] if seconds else works

    def carry(self, ways, seconds):
        """When a tensor that has now come to its link will be there."""
        with self.lock:
            there = max(time.perf_counter(), self.free.get(ways, 0)) + seconds
            self.free[ways] = there
        return there


class Carried:
    """The work of a tensor, which ends when its link has carried it."""

    def __init__(self, faults, ways, seconds, work):
        self.faults, self.ways, self.seconds, self.work = faults, ways, seconds, work
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        self.work.wait()
        self.there = self.faults.carry(self.ways, self.seconds)

    def wait(self, timeout=None):
        self.thread.join()
        time.sleep(max(0.0, self.there - time.perf_counter()))
        return True


# ---- Training ----

def job_of(order_files, layer_us, ranks, microbatches, steps, rounds=1, traced=0, shares=None):
    """A job of one block a rank. `layer_us` has the times of F, I and W, of which microbatches may take
    `shares`, by stage."""
    times = dict(zip(("forward_us", "input_us", "weight_us"), layer_us))
    orders = [{"name": name, "file": file, "format": format,
               "stages": [[stage] for stage in range(ranks)], "shares": shares, "traced": traced,
               "quiet_traced": traced, "steps": steps}
              for name, (file, format) in order_files.items()]
    return {"group": "gloo", "device": "cpu", "ranks": ranks, "microbatches": microbatches,
            "bodies": "sleep", "model": None, "seed": 1, "layers": [{"times": times}] * ranks,
            "width": 64, "examples": 1, "shape": [], "rounds": rounds, "quiet_s": 0,
            "quiet_share": 1, "limit_s": 120, "orders": orders}


def train(job, folder, seconds_of_link=lambda source, target: 0, seconds_of_host=lambda rank: 0):
    """What each order of a job did, with faults."""
    with Faults(seconds_of_link, seconds_of_host), contextlib.redirect_stdout(io.StringIO()):
        results = train_orders.train_all(job, folder).document()["orders"]
    for name, result in results.items():
        if result["fault"]:
            raise RuntimeError(f"{name}: {result['fault']}")
    return results
