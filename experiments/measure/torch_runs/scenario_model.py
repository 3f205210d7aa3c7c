"""The model that train_orders.py trains: blocks that take stated times, layers by kind, or your own.

A model of your own is a file with a function layer(number) that returns the module of that layer of
the scenario, named by "model" in the job (penstock: --model). It may also have batch(microbatches),
which returns inputs and targets, and loss(output, target).
"""

import importlib.util
import time

import torch
from torch import nn


# ---- Layers: blocks that take a stated time ----

class Clock:
    """Spends time: asleep, computing on a core, or in a kernel of a GPU. Off while nothing is timed."""

    def __init__(self, kind, device):
        self.on = True
        self.shares = {"forward": 1, "input": 1, "weight": 1}  # of the microbatch that runs
        self.spend = self.kernel if device.type == "cuda" else getattr(self, kind)
        self.cycles_per_s = self.rate() if device.type == "cuda" else 0

    @staticmethod
    def sleep(seconds):
        time.sleep(seconds)

    @staticmethod
    def compute(seconds):
        end = time.thread_time() + seconds
        square = torch.ones(64, 64)
        while time.thread_time() < end:
            square @ square

    def kernel(self, seconds):
        torch.cuda._sleep(int(seconds * self.cycles_per_s))

    @staticmethod
    def rate():
        cycles = 100_000_000
        times = []
        for _ in range(3):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            torch.cuda._sleep(cycles)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
        return cycles / min(times)

    def take(self, microseconds):
        if self.on and microseconds > 0:
            self.spend(microseconds * 1e-6)


class TimedForward(torch.autograd.Function):
    """Takes its time in F, and in the backward of the input."""

    @staticmethod
    def forward(ctx, x, clock, forward_us, input_us):
        ctx.clock, ctx.input_us = clock, input_us
        clock.take(forward_us)
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        ctx.clock.take(ctx.input_us)
        return gradient, None, None, None


class TimedWeight(torch.autograd.Function):
    """Takes its time in the backward of the weight alone."""

    @staticmethod
    def forward(ctx, weight, clock, weight_us):
        ctx.clock, ctx.weight_us = clock, weight_us
        return weight * 1

    @staticmethod
    def backward(ctx, gradient):
        ctx.clock.take(ctx.weight_us)
        return gradient, None, None


class TimedBlock(nn.Module):
    def __init__(self, clock, times, words, first):
        super().__init__()
        self.clock, self.times, self.first = clock, times, first
        self.weight = nn.Parameter(1 + 0.1 * torch.randn(words))

    def forward(self, x):
        forward, backward, of_weight = (self.times[f"{part}_us"] * self.clock.shares[part]
                                        for part in ("forward", "input", "weight"))
        if self.first:  # its input needs no gradient, so autograd would skip that part
            of_weight += backward
        weight = TimedWeight.apply(self.weight, self.clock, of_weight)
        return weight * TimedForward.apply(x, self.clock, forward, backward)


# ---- Layers by kind, as scenarios name them ----

class Documents:
    """The documents of the microbatch that runs, one after the other; they may leave room behind them.
    Without any, an example is one document that fills it."""

    lengths = ()  # of the microbatch that runs

    def filled(self, tokens):
        return sum(self.lengths) or tokens

    def parts(self, tokens):
        return list(self.lengths) or [tokens]


class Block(nn.Sequential):
    """The parts of a layer, on the tokens of documents alone: behind these are zeros. Attention and
    networks are added to what the norm before them took."""

    def __init__(self, documents, parts):
        super().__init__(*(KINDS[part["kind"]](documents, **numbers(part)) for part in parts))
        self.documents = documents

    def forward(self, x):
        filled = self.documents.filled(x.shape[1])
        if filled == x.shape[1]:
            return self.run(x)
        return nn.functional.pad(self.run(x[:, :filled]), (0, 0, 0, x.shape[1] - filled))

    def run(self, x):
        before = x
        for part in self:
            if isinstance(part, NORMS):
                before, x = x, part(x)
            else:
                x = before = before + part(x) if hasattr(part, "is_added") else part(x)
        return x


class Embedding(nn.Module):
    def __init__(self, documents, vocab, hidden, positions=0, **_):
        super().__init__()
        self.documents = documents
        self.rows = nn.Embedding(int(vocab), int(hidden))
        self.places = nn.Embedding(int(positions), int(hidden)) if positions else None

    def forward(self, tokens):
        rows = self.rows(tokens)
        if self.places is None:
            return rows
        parts = self.documents.parts(tokens.shape[1])
        return rows + self.places(torch.cat([torch.arange(n, device=tokens.device) for n in parts]))


class Attention(nn.Module):
    is_added = True

    def __init__(self, documents, hidden, heads, kv_heads=None, head_dim=None, causal=1, **_):
        super().__init__()
        self.documents = documents
        self.heads, self.keys = int(heads), int(kv_heads or heads)
        self.size, self.causal = int(head_dim or hidden // heads), bool(causal)
        self.inputs = nn.Linear(int(hidden), self.size * (self.heads + 2 * self.keys), bias=False)
        self.output = nn.Linear(self.size * self.heads, int(hidden), bias=False)

    def forward(self, x):
        examples, tokens, _ = x.shape
        parts = self.inputs(x).view(examples, tokens, -1, self.size).transpose(1, 2)
        query, key, value = parts.split([self.heads, self.keys, self.keys], dim=1)
        if self.keys != self.heads:
            key, value = (t.repeat_interleave(self.heads // self.keys, dim=1) for t in (key, value))
        lengths = self.documents.parts(tokens)
        each = [(query, key, value)] if len(lengths) == 1 else \
            zip(*(t.split(lengths, dim=2) for t in (query, key, value)))
        seen = [nn.functional.scaled_dot_product_attention(*of_one, is_causal=self.causal)
                for of_one in each]
        seen = torch.cat(seen, dim=2) if len(lengths) > 1 else seen[0]
        return self.output(seen.transpose(1, 2).reshape(examples, tokens, -1))


class Mlp(nn.Module):
    is_added = True

    def __init__(self, documents, hidden, intermediate, gated=0, bias=0, **_):
        super().__init__()
        self.up = nn.Linear(int(hidden), int(intermediate) * (2 if gated else 1), bias=bool(bias))
        self.down = nn.Linear(int(intermediate), int(hidden), bias=bool(bias))
        self.gated = bool(gated)

    def forward(self, x):
        inside = self.up(x)
        if self.gated:
            gate, inside = inside.chunk(2, dim=-1)
            inside = nn.functional.silu(gate) * inside
        else:
            inside = nn.functional.gelu(inside)
        return self.down(inside)


def norm(documents, hidden, bias=0, **_):
    return nn.LayerNorm(int(hidden)) if bias else nn.RMSNorm(int(hidden))


def head(documents, hidden, vocab, bias=0, **_):
    return nn.Linear(int(hidden), int(vocab), bias=bool(bias))


NORMS = (nn.LayerNorm, nn.RMSNorm)
KINDS = {"embedding": Embedding, "attention": Attention, "mlp": Mlp, "norm": norm, "head": head}


# ---- The model ----

class Model:
    """Builds layers, batches and the loss, by the job or by the user's file."""

    def __init__(self, job, device):
        self.job, self.device = job, device
        self.clock = Clock(job["bodies"], device) if job["bodies"] in ("sleep", "compute") else None
        self.documents = Documents()
        self.own = user_file(job["model"]) if job.get("model") else None
        first, last = job["layers"][0], job["layers"][-1]
        self.takes_tokens = kinds_of(first)[:1] == ["embedding"]
        self.gives_logits = kinds_of(last)[-1:] == ["head"]

    def layer(self, number):
        torch.manual_seed(1000 * self.job["seed"] + number)
        if self.own:
            return self.own.layer(number).to(self.device)
        made = self.job["layers"][number]
        if self.clock:
            module = TimedBlock(self.clock, made["times"], self.job["width"], number == 0)
        else:
            module = Block(self.documents, made["parts"])
        return module.to(self.device)

    def batch(self):
        """Inputs and targets of all microbatches."""
        torch.manual_seed(self.job["seed"])
        count = self.job["microbatches"]
        if self.own and hasattr(self.own, "batch"):
            return [t.to(self.device) for t in self.own.batch(count)]
        shape = (count * self.job["examples"], *self.job["shape"])
        floats = (*shape, self.job["width"])
        x = self.tokens(0, "embedding", shape) if self.takes_tokens else torch.randn(floats)
        y = self.tokens(-1, "head", shape) if self.gives_logits else torch.randn(floats)
        return x.to(self.device), y.to(self.device)

    def tokens(self, layer, kind, shape):
        part = next(p for p in self.job["layers"][layer]["parts"] if p["kind"] == kind)
        return torch.randint(int(part["vocab"]), shape)

    def begin(self, microbatch):
        """Layers then run this microbatch."""
        if self.job.get("documents"):
            self.documents.lengths = self.job["documents"][microbatch]

    def loss(self, output, target):
        if self.own and hasattr(self.own, "loss"):
            return self.own.loss(output, target)
        if self.job.get("documents"):
            filled = self.documents.filled(target.shape[1])
            output, target = output[:, :filled], target[:, :filled]
        if self.gives_logits:
            return nn.functional.cross_entropy(output.flatten(0, -2), target.flatten())
        return nn.functional.mse_loss(output, target)

    def reference(self):
        """Losses of microbatches, and gradients of layers, in one process."""
        layers = [self.layer(number) for number in range(len(self.job["layers"]))]
        self.run_clock(False)
        x, target = self.batch()
        count = self.job["microbatches"]
        losses = []
        for number, (part, wanted) in enumerate(zip(x.chunk(count), target.chunk(count))):
            self.begin(number)
            for module in layers:
                part = module(part)
            losses.append(self.loss(part, wanted))
            (losses[-1] / count).backward()
        self.run_clock(True)
        return [loss.item() for loss in losses], [gradients(module) for module in layers]

    def run_clock(self, on):
        if self.clock:
            self.clock.on = on


def kinds_of(layer):
    return [part["kind"] for part in layer.get("parts", [])]


def numbers(part):
    return {key: value for key, value in part.items() if key != "kind"}


def user_file(path):
    spec = importlib.util.spec_from_file_location("model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "layer"):
        raise ValueError(f"{path} has no function layer(number)")
    return module


def gradients(module):
    return [None if p.grad is None else p.grad.detach().clone() for p in module.parameters()]
