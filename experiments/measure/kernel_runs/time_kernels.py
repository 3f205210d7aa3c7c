"""Times kernels of PyTorch on this machine, for penstock calibrate --kernels.

    python time_kernels.py OUT.jsonl [--device cuda|cpu] [--minutes 25] [--seconds 2] [--scale 1]
                           [--models SCENARIO.json ...]

A line of OUT is a kernel, a layer or a model, written as soon as it is timed, the most valuable ones
first: what is there when the machine goes can be used. Each runs in a row for --seconds, so that clock
and power are those of sustained work. --scale 0.1 makes all sizes smaller, for a CPU. --models times
the models of scenarios instead, as they are. Models run eagerly and as CUDA graphs ("graphed"). It needs
PyTorch 2.4 or later and scenario_model.py, beside it or in ../torch_runs. Exit 1: a line has no time.
On a GPU "host_us" is what the host took to issue a run: where that is nearly "us", the GPU waited for it.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch import nn

for folder in (Path(__file__).parent, Path(__file__).parent.parent / "torch_runs"):
    sys.path.append(str(folder))
import scenario_model  # noqa: E402

BLOCK = 32  # sizes are multiples of it


# ---- Timing ----

class Timer:
    """Runs something in a row for a while and tells how long one run takes, with clock and power."""

    def __init__(self, device, seconds):
        self.device, self.seconds = device, seconds
        self.gpu = device.type == "cuda"

    def wait(self):
        if self.gpu:
            torch.cuda.synchronize()

    def seconds_of(self, run, times):
        """All of it, and the host's share: until everything is issued."""
        self.wait()
        begin = time.perf_counter()
        for _ in range(times):
            run()
        issued = time.perf_counter() - begin
        self.wait()
        return time.perf_counter() - begin, issued

    def __call__(self, run):
        for _ in range(3):
            run()
        # Groups of 20 ms: a launch is hidden behind the kernels before, unless these are shorter.
        times = max(1, round(0.02 / max(1e-6, self.seconds_of(run, 1)[0])))
        groups, issues, end, sensor = [], [], time.perf_counter() + self.seconds, None
        while time.perf_counter() < end or len(groups) < 5:
            took, issued = self.seconds_of(run, times)
            groups.append(took / times * 1e6)
            issues.append(issued / times * 1e6)
            if sensor is None and time.perf_counter() > end - self.seconds / 2:
                sensor = self.sensor()
        middle = statistics.median(groups)
        return {"us": middle, "runs": len(groups) * times,
                "spread": statistics.median(abs(us - middle) for us in groups) / middle,
                **({"host_us": statistics.median(issues)} if self.gpu else {}), **self.read(sensor)}

    def sensor(self):
        """Asks for clock and power in the middle of the work; read when it is over."""
        if not self.gpu:
            return False
        command = ["nvidia-smi", "--query-gpu=clocks.sm,power.draw", "--format=csv,noheader,nounits",
                   f"--id={torch.cuda.current_device()}"]
        try:
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except OSError:
            return False

    @staticmethod
    def read(sensor):
        if not sensor:
            return {}
        try:
            mhz, watts = sensor.communicate(timeout=10)[0].split(",")
            return {"mhz": float(mhz), "watts": float(watts)}
        except (ValueError, subprocess.TimeoutExpired):
            return {}


# ---- Kernels ----

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def random(shape, dtype, device, gradient=False):
    """Never zeros: these take less power."""
    return torch.randn(shape, device=device, dtype=torch.float32).to(dtype).requires_grad_(gradient)


def product(sizes, dtype, device):
    rows, columns, inner = (int(sizes[key]) for key in ("rows", "columns", "inner"))
    if dtype == "fp8":
        left = random((rows, inner), torch.bfloat16, device).to(torch.float8_e4m3fn)
        right = random((columns, inner), torch.bfloat16, device).to(torch.float8_e4m3fn).t()
        one = torch.ones((), device=device)
        return lambda: torch._scaled_mm(left, right, scale_a=one, scale_b=one,
                                        out_dtype=torch.bfloat16)
    left = random((rows, inner), DTYPES[dtype], device)
    right = random((columns, inner), DTYPES[dtype], device).t()
    return lambda: left @ right


def attention(sizes, dtype, device):
    heads, tokens = int(sizes["heads"]), int(sizes["sequence"])
    shape = (int(sizes.get("batch", 1)), heads, tokens, int(sizes["head_size"]))
    query, key, value = (random(shape, DTYPES[dtype], device, True) for _ in range(3))
    causal = bool(sizes.get("causal", 1))

    def forward():
        return nn.functional.scaled_dot_product_attention(query, key, value, is_causal=causal)

    if not sizes.get("backward"):
        return lambda: forward().detach()
    output, gradient = forward(), random(shape, DTYPES[dtype], device)
    return lambda: torch.autograd.grad(output, (query, key, value), gradient, retain_graph=True)


def stream(sizes, dtype, device):
    count = int(sizes["bytes"]) // 4  # read and written, two bytes a value
    source = random((count,), torch.bfloat16, device)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


KERNELS = {"product": product, "attention": attention, "stream": stream}


# ---- Layers and models ----

class Experts(nn.Module):
    """Routes each token to some of several networks, one after the other."""

    is_added = True

    def __init__(self, documents, hidden, experts, chosen, expert_intermediate, gated=0, bias=0, **_):
        super().__init__()
        self.router = nn.Linear(int(hidden), int(experts), bias=bool(bias))
        self.networks = nn.ModuleList(
            scenario_model.Mlp(documents, hidden, expert_intermediate, gated, bias) for _ in range(int(experts)))
        self.chosen = int(chosen)

    def forward(self, x):
        tokens = x.flatten(0, 1)
        weights, chosen = self.router(tokens).softmax(-1).topk(self.chosen)
        result = torch.zeros_like(tokens)
        for number, network in enumerate(self.networks):
            rows, places = (chosen == number).nonzero(as_tuple=True)
            result = result.index_add(0, rows, weights[rows, places, None] * network(tokens[rows]))
        return result.view_as(x)


scenario_model.KINDS["moe"] = Experts


class Passes:
    """Forward and backward of layers. As in training, gradients of weights are added up."""

    def __init__(self, row, device):
        layers = [layer["parts"] for layer in row["layers"] for _ in range(layer.get("repeat", 1))]
        documents, dtype = scenario_model.Documents(), DTYPES[row["dtype"]]
        with device:  # a CPU takes seconds to draw the weights of a large model
            model = nn.Sequential(*(scenario_model.Block(documents, parts) for parts in layers))
        self.model = model.to(device, dtype)
        shape, first = (int(row["examples"]), int(row["sequence"])), layers[0][0]
        self.x = torch.randint(int(first["vocab"]), shape, device=device) \
            if first["kind"] == "embedding" else random((*shape, int(first["hidden"])), dtype, device, True)
        self.forward()
        self.gradient = torch.randn_like(self.output)

    def forward(self):
        self.output = self.model(self.x)

    def backward(self):
        self.x.grad = None
        self.output.backward(self.gradient, retain_graph=True)

    def graphs(self):
        """Both as CUDA graphs, in which no kernel waits for the host."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.forward()
                self.backward()
        torch.cuda.current_stream().wait_stream(side)
        self.output = None  # what autograd keeps of it belongs to that stream
        forward, backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(forward):
            self.forward()
        with torch.cuda.graph(backward, pool=forward.pool()):
            self.backward()
        return forward, backward


# ---- What is timed, the most valuable first ----

def block(hidden, intermediate):
    heads = max(1, hidden // 128)
    return {"parts": [{"kind": "norm", "hidden": hidden, "bias": 0},
                      {"kind": "attention", "hidden": hidden, "heads": heads, "head_dim": 128,
                       "flash": 1},
                      {"kind": "norm", "hidden": hidden, "bias": 0},
                      {"kind": "mlp", "hidden": hidden, "intermediate": intermediate, "gated": 1}]}


def classic_block(hidden, intermediate):
    """As `validate --bodies transformer` runs it."""
    return {"parts": [{"kind": "norm", "hidden": hidden, "bias": 1},
                      {"kind": "attention", "hidden": hidden, "heads": max(1, hidden // 64),
                       "head_dim": 64, "flash": 1},
                      {"kind": "norm", "hidden": hidden, "bias": 1},
                      {"kind": "mlp", "hidden": hidden, "intermediate": intermediate, "gated": 0}]}


def work(scale, dtypes):
    """Rows without their times, part by part."""
    def size(number):
        return max(BLOCK, round(number * scale / BLOCK) * BLOCK)

    def products(dtype, tokens, hiddens):
        for hidden in map(size, hiddens):
            for columns, inner in ((3 * hidden, hidden), (hidden, hidden), (7 * hidden, hidden),
                                   (hidden, 7 * hidden // 2 // BLOCK * BLOCK)):
                yield {"part": f"products {dtype}", "kind": "product", "dtype": dtype,
                       "sizes": {"rows": size(tokens), "columns": columns, "inner": inner}}

    def attentions(sequences, head_sizes):
        for head_size in head_sizes:
            for sequence in map(size, sequences):
                for backward in (0, 1):
                    yield {"part": "attention", "kind": "attention", "dtype": wide,
                           "sizes": {"sequence": sequence, "heads": 16, "head_size": head_size,
                                     "batch": 2, "causal": 1, "backward": backward}}

    def layers(part, made, sequence, held_back=False, examples=1):
        return {"part": part, "layers": made, "sequence": size(sequence), "examples": examples,
                "dtype": wide, "held_back": held_back}

    wide = dtypes[0]
    hidden = size(4096)
    yield from products(wide, 4096, (4096, 8192))
    yield from attentions((2048, 4096, 8192), (128,))
    for power in (8, 7, 9, 6):
        yield {"part": "streams", "kind": "stream", "dtype": wide,
               "sizes": {"bytes": int(10 ** power * scale) // 4 * 4}}
    yield layers("norm", [{"parts": [{"kind": "norm", "hidden": hidden, "bias": 0}]}], 8192)
    yield layers("model", [{**block(hidden, 7 * hidden // 2), "repeat": 4}], 4096, True)
    yield layers("model", [{**classic_block(size(1024), size(4096)), "repeat": 8}], 256, True, 8)
    if "fp8" in dtypes:
        yield from products("fp8", 4096, (4096, 8192))
    yield layers("mlp", [{"parts": [{"kind": "mlp", "hidden": hidden, "intermediate": 3 * hidden,
                                     "gated": 1}]}], 8192)
    yield layers("moe", [{"parts": [{"kind": "moe", "hidden": hidden // 2, "experts": 8,
                                     "chosen": 2, "expert_intermediate": hidden, "gated": 1}]}], 8192)
    yield layers("model", [{**block(2 * hidden, 7 * hidden), "repeat": 2}], 2048, True)
    yield from products(wide, 1024, (2048, 4096, 8192))
    yield from products(wide, 16384, (2048, 5120))
    yield from attentions((1024, 16384), (128,))
    yield from attentions((2048, 8192), (64,))


def models(files, dtypes):
    """The models of scenarios, each on one device: layers by kind."""
    for file in files:
        model = json.loads(Path(file).read_text(encoding="utf-8"))["model"]
        layers = [layer if "parts" in layer else {"parts": [layer]} for layer in model["layers"]]
        yield {"part": "model", "file": Path(file).stem, "layers": layers,
               "sequence": model.get("sequence", 2048), "examples": model.get("microbatch", 1),
               "dtype": dtypes[0], "held_back": True}


def first_line(error):
    return f"{type(error).__name__}: {error}".splitlines()[0]


def timed(row, device, timer):
    """The row with its times; of a whole model on a GPU also without those of the host."""
    if "layers" not in row:
        return {**row, **timer(KERNELS[row["kind"]](row["sizes"], row["dtype"], device))}
    passes = Passes(row, device)
    made = {**row, "forward": timer(passes.forward), "backward": timer(passes.backward)}
    if row["part"] == "model" and device.type == "cuda":
        try:
            forward, backward = passes.graphs()
            made["graphed"] = {"forward": timer(forward.replay), "backward": timer(backward.replay)}
        except RuntimeError as error:
            made["why_no_graphs"] = first_line(error)
    return made


def facts(device):
    if device.type != "cuda":
        return {"device": "cpu", "torch": torch.__version__}
    seen = torch.cuda.get_device_properties(device)
    return {"device": seen.name, "multiprocessors": seen.multi_processor_count,
            "memory_bytes": seen.total_memory, "torch": torch.__version__, "cuda": torch.version.cuda}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--minutes", type=float, default=25)
    parser.add_argument("--seconds", type=float, default=2, help="that each runs in a row")
    parser.add_argument("--scale", type=float, default=1, help="of all sizes")
    parser.add_argument("--models", nargs="+", metavar="SCENARIO.json")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("no GPU: PyTorch sees none", file=sys.stderr)
        return 4
    device, end = torch.device(options.device), time.monotonic() + 60 * options.minutes
    timer = Timer(device, options.seconds)
    gpu = device.type == "cuda"
    dtypes = ["bf16", "fp8"] if gpu and torch.cuda.get_device_capability() >= (8, 9) else \
             ["bf16"] if gpu else ["fp32"]
    torch.manual_seed(1)
    failed = False
    if not gpu:
        torch.set_num_threads(1)
    with open(options.out, "w", encoding="utf-8") as out:
        def write(line):
            out.write(json.dumps(line) + "\n")
            out.flush()

        write({"penstock": 1, **facts(device)})
        for row in models(options.models, dtypes) if options.models else work(options.scale, dtypes):
            if time.monotonic() > end:
                print("no time left; what is timed is written", file=sys.stderr)
                break
            try:
                write(timed(row, device, timer))
            except (RuntimeError, KeyError, TypeError) as error:
                what, failed = first_line(error), True
                print(f"{row['part']} failed: {what}", file=sys.stderr)
                write({**row, "failed": what})
            if gpu:
                torch.cuda.empty_cache()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
