"""Faults put into how PyTorch's pipelining passes tensors: links that are slow, hosts that sleep.

A tensor occupies a slow link for a stated time, one after the other, from when gloo has moved it: that
is once both of its ends have come to it. A host sleeps before it posts what it sends and receives.
"""

import importlib.util
import json
import os
import sys
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
PIPELINING = "torch.distributed.pipelining.schedules"


class Faults:
    """Stands for how the module passes tensors. `seconds_of_link(source, target)` is how long a link
    takes, `seconds_of_host(rank)` how long a host sleeps."""

    def __init__(self, pipelining, seconds_of_link, seconds_of_host=lambda rank: 0):
        self.seconds_of_link, self.seconds_of_host = seconds_of_link, seconds_of_host
        self.free, self.lock = {}, threading.Lock()
        self.moves, pipelining._batch_p2p = pipelining._batch_p2p, self.batch

    def batch(self, ops, desc=None):
        import torch.distributed as dist
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


# ---- In a program that knows nothing of it ----

VARIABLE = "PENSTOCK_TEST_FAULTS"


def environment(folder, links=None, hosts=None):
    """What Python programs need in their environment to have these faults: seconds by "0>1" and by
    rank. `folder` is theirs alone."""
    with open(os.path.join(folder, "sitecustomize.py"), "w") as file:
        file.write(f"import sys\nsys.path.append({HERE!r})\nimport faults\nfaults.wait_for_pipelining()\n")
    stated = {"links": links or {}, "hosts": hosts or {}}
    path = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", VARIABLE: json.dumps(stated)}


def wait_for_pipelining():
    """Puts the faults of the environment into PyTorch's module once it is imported."""
    sys.meta_path.insert(0, Watch())


class Watch:
    def find_spec(self, name, path=None, target=None):
        if name != PIPELINING:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module

        def run_and_change(module):
            run(module)
            stated = json.loads(os.environ[VARIABLE])
            Faults(module, lambda source, target: stated["links"].get(f"{source}>{target}", 0),
                   lambda rank: stated["hosts"].get(str(rank), 0))

        spec.loader.exec_module = run_and_change
        return spec
