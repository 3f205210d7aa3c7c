#!/usr/bin/env python3
"""Trains a model by pipeline orders in PyTorch's own runtime, and measures it.

    python train_orders.py JOB.json

Penstock writes this file, scenario_model.py and the job (penstock validate or calibrate, --backend
torch_gloo). To run them again, PyTorch is all that is needed. Beside the job the program writes
results.json, and one trace a rank in traces/ORDER/. Exit codes: 0 done, 2 wrong usage, 77 no PyTorch.

One process a rank, each with its stages. Visits of all orders alternate, so that a machine that drifts
treats them alike. The first visit of an order compares loss and gradients with one process. A visit
traces some steps while the order wants more quiet ones, and then times steps without the profiler.
Timed steps in which others used more of the cores than they may are repeated while there is time for
that; all are kept. Python's garbage collector runs between steps.
"""

import ctypes
import gc
import gzip
import json
import math
import multiprocessing.connection
import os
import re
import signal
import sys
import time
import traceback
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

try:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.distributed.pipelining import PipelineStage, schedules as pipelining
    from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime
    from torch.profiler import ProfilerActivity, profile, record_function, schedule

    from scenario_model import Model, gradients
except ImportError as missing:
    print(f"no PyTorch for this Python: {missing}", file=sys.stderr)
    sys.exit(77)


# ---- The machine ----

def cores_busy():
    """Core-seconds that this machine has worked since it started."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, soft, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


class Quiet:
    """Waits until others use few of the cores, and lets loud steps be repeated: so long in all and no
    longer. One for all ranks: what it says is the same on all."""

    def __init__(self, job, device):
        self.left, self.share, self.waited = job["quiet_s"], job["quiet_share"], 0.0
        self.device = device

    def seen(self):
        return {"waited_s": self.waited, "gave_up": self.waited > 0 and self.left <= 0}

    def spend(self, seconds):
        self.left -= seconds
        self.waited += seconds

    def wait(self):
        if dist.get_rank() == 0:
            self.wait_alone()
        self.left, self.waited = from_first_rank([self.left, self.waited], self.device)

    def wait_alone(self):
        while self.left > 0:
            begin, busy = time.perf_counter(), cores_busy()
            time.sleep(0.5)
            passed = time.perf_counter() - begin
            if cores_busy() - busy <= self.share * passed * os.cpu_count():
                return
            self.spend(passed)

    def disturbs(self, step):
        return step["others"] > self.share


def from_first_rank(numbers, device):
    """The numbers of rank 0."""
    shared = torch.tensor(numbers, dtype=torch.float64, device=device)
    dist.broadcast(shared, 0)
    return shared.tolist()


# ---- One rank ----

class Stage(PipelineStage):
    """A stage that tells its blocks which microbatch runs, where they differ."""

    def __init__(self, module, number, count, model, shares):
        super().__init__(module, number, count, model.device)
        self.model, self.shares = model, shares

    def forward_one_chunk(self, number, *args, **options):
        self.model.begin(number)
        if self.shares:
            self.model.clock.shares = {part: of[number] for part, of in self.shares.items()}
        return super().forward_one_chunk(number, *args, **options)


class Trained:
    """An order on this rank: its stages in the runtime."""

    def __init__(self, order, model, rank, folder):
        self.order, self.model = order, model
        rows = [line.strip() for line in open(os.path.join(folder, order["file"])) if line.strip()]
        self.own = sorted({int(s) for s in re.findall(r"(\d+)[FBIW]\d", rows[rank])})
        self.count = len(order["stages"])
        self.modules = [nn.Sequential(*(model.layer(n) for n in order["stages"][s]))
                        for s in self.own]
        stages = [Stage(module, s, self.count, model, order.get("shares") and order["shares"][s])
                  for module, s in zip(self.modules, self.own)]
        self.runtime = _PipelineScheduleRuntime(stages, model.job["microbatches"],
                                                loss_fn=model.loss)
        self.runtime._load_csv(os.path.join(folder, order["file"]), format=order["format"])
        self.x, self.target = model.batch()

    def step(self):
        """One iteration; the losses where the last stage is."""
        losses = []
        given = (self.x,) if 0 in self.own else ()
        if self.count - 1 in self.own:
            self.runtime.step(*given, target=self.target, losses=losses)
        else:
            self.runtime.step(*given)
        return losses

    def fresh(self):
        for module in self.modules:
            module.zero_grad(set_to_none=True)

    def error(self, losses, reference):
        """The largest relative error of a loss or gradient here."""
        wanted_losses, wanted = reference
        worst = max((abs(a.item() - b) / max(abs(b), 1e-12)
                     for a, b in zip(losses, wanted_losses)), default=0.0)
        for s, module in zip(self.own, self.modules):
            for number, layer in zip(self.order["stages"][s], module):
                for mine, right in zip(gradients(layer), wanted[number]):
                    worst = max(worst, distance(mine, right))
        return worst


def distance(mine, right):
    if mine is None or right is None:
        return 0.0 if mine is right else math.inf
    error = ((mine - right).norm() / right.norm().clamp_min(1e-12)).item()
    return error if math.isfinite(error) else math.inf


def meet(device):
    dist.barrier(device_ids=[device.index]) if device.type == "cuda" else dist.barrier()


def finish(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def watched(work, device):
    """Works on all ranks at once: when this rank began and ended; how long all took and what share of
    the cores others used meanwhile, the same on all ranks."""
    gc.collect()
    meet(device)
    busy, own, begin = cores_busy(), time.process_time(), time.perf_counter()
    work()
    finish(device)
    end, own = time.perf_counter(), time.process_time() - own
    meet(device)
    all_own = torch.tensor(own, dtype=torch.float64, device=device)
    dist.all_reduce(all_own)
    wall, others = time.perf_counter() - begin, cores_busy() - busy - all_own.item()
    wall, others = from_first_rank([wall, max(0.0, others) / (wall * os.cpu_count())], device)
    return {"begin": begin, "end": end, "wall": wall, "others": others}


def timed_steps(trained, quiet, device):
    """As many steps as wanted, and others for those that were loud, while there is time for quiet."""
    wanted, steps = trained.order["steps"], []
    while wanted > 0:
        trained.fresh()
        steps.append(watched(trained.step, device))
        if quiet.disturbs(steps[-1]) and quiet.left > 0:
            quiet.spend(steps[-1]["wall"])
        else:
            wanted -= 1
    return steps


class Stamps:
    """Traces on the host, in the profiler's format: actions of the runtime, and the work in them. The
    profiler notes hundreds of operators in an op as well, which makes short ops a quarter longer."""

    WORK = {"forward_one_chunk": "forward", "backward_one_chunk": "autograd::engine",
            "backward_weight_one_chunk": "autograd::engine"}

    def __init__(self, trained, rank, path):
        self.stages, self.rank, self.path = trained.runtime._stages, rank, path
        self.events, self.number, self.begin = [], 0, time.perf_counter_ns()

    def __enter__(self):
        pipelining.record_function = self.annotated
        for stage in self.stages:
            for method, name in self.WORK.items():
                setattr(stage, method, partial(self.work, name, stage, getattr(stage, method)))
        return self

    def __exit__(self, *_):
        pipelining.record_function = record_function
        for stage in self.stages:
            for method in self.WORK:
                delattr(stage, method)
        with gzip.open(self.path, "wt", compresslevel=1) as file:
            json.dump({"distributedInfo": {"rank": self.rank, "world_size": dist.get_world_size(),
                                           "backend": dist.get_backend()},
                       "traceEvents": self.events}, file)

    @contextmanager
    def annotated(self, name):
        begin = time.perf_counter_ns()
        with record_function(name):  # which takes its time without a profiler, too
            yield
        self.add("user_annotation", name, begin)

    def work(self, name, stage, method, *args, **options):
        if stage.is_first and not options.get("full_backward", True):
            return method(*args, **options)  # does nothing: its W is the whole backward
        begin = time.perf_counter_ns()
        result = method(*args, **options)
        self.add("cpu_op", name, begin)
        return result

    def add(self, category, name, begin):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": self.rank, "tid": 0,
                            "ts": begin / 1e3, "dur": (time.perf_counter_ns() - begin) / 1e3})

    def step(self):
        """A step ends; the first warms up."""
        if self.number == 0:
            self.events.clear()
        else:
            self.add("user_annotation", f"ProfilerStep#{self.number}", self.begin)
        self.number, self.begin = self.number + 1, time.perf_counter_ns()


def traced_steps(trained, rank, turn, device, folder):
    """Steps with a trace, in one file a rank. ProfilerStep#1 is the first."""
    where = os.path.join("traces", trained.order["name"], str(turn))
    os.makedirs(os.path.join(folder, where), exist_ok=True)
    name = os.path.join(folder, where, f"rank{rank}.json.gz")
    active = trained.order["traced"]
    if device.type == "cuda":
        tracer = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                         schedule=schedule(wait=0, warmup=1, active=active),
                         on_trace_ready=lambda p: p.export_chrome_trace(name))
    else:
        tracer = Stamps(trained, rank, name)
    steps = []
    with tracer:
        for _ in range(1 + active):
            trained.fresh()
            steps.append({**watched(trained.step, device), "round": turn})
            tracer.step()
    return {"folder": where, "steps": steps[1:]}


def visit(order, model, rank, turn, reference, folder, quiet):
    """Builds an order and runs it: in the first turn checked, traced while it wants that, and timed."""
    trained = Trained(order, model, rank, folder)
    seen = {}
    losses = trained.step()  # a warm-up too: the runtime learns shapes
    if turn == 0:
        seen["gradient_error"] = trained.error(losses, reference)
    if order["quiet_traced"] > 0:
        seen["trace"] = traced_steps(trained, rank, turn, model.device, folder)
        order["quiet_traced"] -= sum(not quiet.disturbs(step) for step in seen["trace"]["steps"])
    elif turn > 0:
        trained.fresh()
        trained.step()
    seen["steps"] = [{**step, "round": turn}
                     for step in timed_steps(trained, quiet, model.device)]
    return seen


def run_rank(rank, job, orders, meeting, folder, pipe):
    """All orders in turns. Tells the parent what it is at, sees, and where it fails."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # ends with the parent
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    name = None
    try:
        torch.set_num_threads(1)
        device = torch.device("cuda", rank) if job["device"] == "cuda" else torch.device("cpu")
        if device.type == "cuda":
            torch.cuda.set_device(device)
        dist.init_process_group(job["group"], init_method=f"file://{meeting}", rank=rank,
                                world_size=job["ranks"], timeout=timedelta(seconds=job["limit_s"]))
        model, quiet = Model(job, device), Quiet(job, device)
        reference = model.reference()
        gc.collect()
        gc.freeze()
        gc.disable()
        for turn in range(job["rounds"]):
            for order in orders:
                name = order["name"]
                quiet.wait()
                if rank == 0:
                    pipe.send(("at", name, turn))
                seen = visit(order, model, rank, turn, reference, folder, quiet)
                pipe.send(("seen", name, seen))
        pipe.send(("end", None, {"quiet": quiet.seen(), "threads": torch.get_num_threads()}))
        meet(device)
        dist.destroy_process_group()
    except Exception as error:
        pipe.send(("fault", name, f"rank {rank}: {type(error).__name__}: {error}"))
        traceback.print_exc()
        os._exit(1)


# ---- All ranks ----

def of_all(ranks):
    """Steps of all ranks, from those that each saw."""
    return [{"us": 1e6 * (max(s["end"] for s in steps) - min(s["begin"] for s in steps)),
             "others": steps[0]["others"], "round": steps[0]["round"]} for steps in zip(*ranks)]


class Results:
    """What ranks saw, by order."""

    def __init__(self, job):
        self.job = job
        self.orders = {order["name"]: {"fault": None, "gradient_error": 0.0, "traces": [], "steps": []}
                       for order in job["orders"]}
        self.parts = {}
        self.quiet = {"waited_s": 0.0, "gave_up": False}
        self.threads = 1  # in which a rank computes
        self.machine_fault = self.model_fault = None
        self.done = 0

    def add(self, rank, name, seen):
        self.parts.setdefault(name, {})[rank] = seen
        if len(self.parts[name]) < self.job["ranks"]:
            return
        of_ranks = self.parts.pop(name)
        result = self.orders[name]
        for part in of_ranks.values():
            result["gradient_error"] = max(result["gradient_error"], part.get("gradient_error", 0))
        if "trace" in of_ranks[0]:
            result["traces"].append({
                "folder": of_ranks[0]["trace"]["folder"],
                "steps": of_all([part["trace"]["steps"] for part in of_ranks.values()])})
        result["steps"] += of_all([part["steps"] for part in of_ranks.values()])
        self.done += 1
        total = self.job["rounds"] * len(self.job["orders"])
        print(json.dumps({"done": self.done, "total": total}), flush=True)

    def document(self):
        cuda = self.job["device"] == "cuda" and torch.cuda.device_count() > 0
        return {"torch": torch.__version__, "python": sys.version.split()[0],
                "device": torch.cuda.get_device_name(0) if cuda else "cpu",
                "load": os.getloadavg()[0], "threads": self.threads, "quiet": self.quiet,
                "machine_fault": self.machine_fault, "model_fault": self.model_fault,
                "orders": self.orders}


def run_ranks(job, orders, folder, results, number):
    """Runs orders until all are done or one fails: that one, or None."""
    context = torch.multiprocessing.get_context("spawn" if job["device"] == "cuda" else "fork")
    meeting = os.path.join(folder, f"meeting{number}")
    pipes, ranks, at = {}, [], None
    for rank in range(job["ranks"]):
        mine, theirs = context.Pipe(duplex=False)
        process = context.Process(target=run_rank, daemon=True,
                                  args=(rank, job, orders, meeting, folder, theirs))
        process.start()
        theirs.close()
        pipes[mine] = rank
        ranks.append(process)
    fault = None
    while pipes and fault is None:
        for pipe in multiprocessing.connection.wait(list(pipes)):
            try:
                kind, name, content = pipe.recv()
            except EOFError:
                rank = pipes.pop(pipe)
                ranks[rank].join(60)
                if ranks[rank].exitcode != 0:
                    fault = (at, f"rank {rank} ended with exit code {ranks[rank].exitcode}")
                continue
            if kind == "at":
                at = name
            elif kind == "seen":
                results.add(pipes[pipe], name, content)
            elif kind == "end":
                results.quiet = content["quiet"]  # the same on all ranks
                results.threads = max(results.threads, content["threads"])
            elif kind == "fault":
                fault = (name or at, content)
                break
    for process in ranks:
        if fault:
            process.kill()
        process.join()
    return fault


def train_all(job, folder):
    """An order that fails is left out, and the others start again."""
    results = Results(job)
    if job["device"] == "cuda" and torch.cuda.device_count() < job["ranks"]:
        results.machine_fault = f"{job['ranks']} GPUs are needed, found {torch.cuda.device_count()}"
        return results
    orders, number = list(job["orders"]), 0
    while orders:
        fault = run_ranks(job, orders, folder, results, number)
        if fault is None:
            break
        name, text = fault
        if name is None:
            results.model_fault = text
            break
        results.orders[name]["fault"] = text
        orders = [order for order in orders if order["name"] != name]
        for order in orders:
            results.orders[order["name"]]["steps"] = []
            results.orders[order["name"]]["traces"] = []
        results.parts, results.done, number = {}, 0, number + 1
    return results


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[1]) as file:
        job = json.load(file)
    folder = os.path.dirname(os.path.realpath(sys.argv[1]))
    results = train_all(job, folder)
    with open(os.path.join(folder, "results.json"), "w") as file:
        json.dump(results.document(), file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
