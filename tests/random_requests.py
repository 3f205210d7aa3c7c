"""Random requests for compare_outputs: layouts, sweeps, partitions and searches of small models,
and faults in documents. Most take less than a second; none is ended by the clock."""
import copy, json

from random_scenarios import MACHINES, costs_of
from small_models import PROFILES

BUNDLED = [f"experiments/models/{name}" for name in (
    "llama-3.1-8b.json", "llama-3.1-70b.json", "deepseek-v3.json", "gpt-3-175b.sh")]
METHODS = ("balanced devices even gpipe ideals interleaved least_traffic memory pipedream "
           "simulated").split()


# Layouts

ONLY = ("/parallel/pipeline=1..8*2", "/parallel/pipeline=2,4", "/parallel/tensor=1,2",
        "/parallel/tensor=4", "/schedule/name=1f1b,zb-h1,gpipe", "/schedule/name=interleaved-1f1b",
        "/memory/zero=1", "/memory/zero=0,3", "/recompute/mode=none,full", "/parallel/data=2",
        "/parallel/pipeline=4,/parallel/tensor=1,2", "/parallel/context=1", "/model/microbatch=1",
        "/schedule/microbatches=8", "/parallel/chunks=1,2", "/parallel/expert=1",
        "/schedule/overlap=fused", "/recompute/layers=1,2", "/parallel/overlap_experts=false")
SETTINGS = ("/memory/capacity_bytes=12e9", "/memory/capacity_bytes=2GB", "/memory/optimizer=sgd",
            "/hardware/nic_efficiency=0.6", "/hardware/kernel_us=5", "/overheads/launch_us=5",
            "/parallel/overlap_sums=false", "/hardware/collective_us=50", "/hardware/stack=none",
            "/hardware/stack=megatron", "/model/dtype=fp32", "/recompute/early=true",
            "/hardware/transfers/in_flight=1", "/memory/reserve=0.2", "/codec/link=bfp")
WHYS = ("rules", "stacks", "/parallel/pipeline=4", "/parallel/tensor=2", "/schedule/name=gpipe",
        "/memory/zero=3", "/recompute/mode=full", "/parallel/pipeline=2,/schedule/name=1f1b")
CHANGES = ("/hardware/nic_efficiency=0.3", "/memory/capacity_bytes=8e9",
           "/hardware/link_efficiency=0.5", "/hardware/kernel_us=20")


def layout(draw, models):
    """One request; bundled models, which have many layouts, get fewer of what multiplies them."""
    bundled = draw.often(0.3)
    model = draw.choice(BUNDLED + BUNDLED[:1] * 2 if bundled else models)
    devices = draw.choice([8, 16, 32, 64] if bundled else [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64])
    command = f"layout {model} --hardware {draw.choice(MACHINES)} --devices {devices}"

    def add(share, flag, *values):
        nonlocal command
        if draw.often(share):
            command += f" {flag}" + (f" {draw.choice(values)}" if values else "")

    if bundled:
        command += " --microbatch 1 --only /parallel/context=1"
        add(1, "--only", "/parallel/tensor=4,8", "/parallel/tensor=8", "/parallel/pipeline=4,8")
    else:
        add(0.6, "--microbatch", 1, 2, 4)
        add(0.5, "--only", *ONLY)
        if devices <= 16:
            add(0.5, "--partitions", "even,balanced", "balanced,gpipe", "memory", "least_traffic")
        add(0.15, "--offload")
    add(0.4, "--sequence", 512, 1024, 2048)
    add(0.5, "--global-batch", 32, 64, 96, 128)
    add(0.15, "--only", *ONLY)
    add(0.3, "--set", *SETTINGS)
    add(0.1, "--lossy")
    add(0.5, "--best", 1, 3, 20)
    add(0.4, "--json")
    add(0.3, "--why", *WHYS)
    add(0.2, "--why", *WHYS)
    add(0.15, "--change", *CHANGES)
    add(0.15, "--headroom", 0, 0.03, 0.2)
    add(0.1, "--compare-devices", 4, 16)
    add(0.3, "-o out/layouts")
    add(0.15, "--svg out/layouts.svg")
    add(0.1, "--png out/layouts.png")
    add(0.3, "-j", 1, 2)
    return command


def layout_commands(draw, models):
    yield from (layout(draw, models) for _ in range(200))
    for name in PROFILES:
        yield f"layout made/{name} --hardware dgx-a100 --devices 4 --best 5"
    small = "layout made/llama.json --hardware dgx-a100 --devices 4 --microbatch 1"
    yield f"{small} --partitions simulated --only /parallel/pipeline=4 --only /parallel/chunks=1"
    yield f"run made/llama.json; penstock {small} -o out/l; penstock run out/l/layout_1.json"
    hardware = ("dgx-h100", "dgx-a100", "tests/scenarios/hardware/workshop.json")
    for number, model in enumerate(models):
        yield f"new --model {model} --hardware {hardware[number % 2]} --devices 4 --microbatch 1"
    for machine in hardware:
        yield (f"new --model made/qwen2.json --hardware {machine} --devices 2 --sequence 256 "
               "--global-batch 16 -o out/new.json; penstock run out/new.json")
    yield from ("new -o out/new.json", "new --model made/llama.json --devices 4",
                "new --model experiments/models/deepseek-v3.json --hardware dgx-h100 --devices 8")


# Sweeps

AXES = {  # of stages given by times on ideal links: a list, or a range as in a sweep file
    "/schedule/name": ["1f1b", "gpipe", "zb-h1", "zb-h2", "eager-1f1b", "seq-1f1b", "bpipe",
                       "dualpipe", "pipedream-2bw", "naive"],
    "/schedule/microbatches": {"from": 4, "to": 16, "step": 4},
    "/model/stages/*/forward_us": {"from": 50, "to": 200, "step": 50},
    "/model/stages/1/backward_weight_us": [10, 100, 400],
    "/model/stages/0/stash_bytes": ["1MB", "4MB", "1GB"],
    "/hardware/latency_us": ["1us", "20us", "1ms"],
    "/hardware/bandwidth_bytes_per_s": {"from": 1e8, "to": 8e8, "factor": 2},
    "/hardware/transfers/in_flight": [0, 1],
    "/overheads/launch_us": {"from": 1, "to": 9, "step": 2},
    "/overheads/optimizer_us": [0, 250],
    "/overheads/compute_slowdown_by_transfer": [1, 1.25],
    "/chance/seed": {"from": 1, "to": 5, "step": 1},
    "/chance/jitter": [0, 0.05, 0.2],
    "/recompute/mode": ["none", "full", "except_last"],
    "/memory/capacity_bytes": [1e7, 2e7, 1e9],
    "/memory/policy": ["finding", "stall"],
    "/codec/link": ["none", "bfp"],
    "/codec/stash": ["none", "bfp", "auto"],
    "/offload/keep": [1, 3],
}
LAYER_AXES = {  # of a transformer on a machine
    "/schedule/name": ["1f1b", "gpipe", "zb-h1", "interleaved-1f1b", "dualpipev", "zb-v"],
    "/schedule/microbatches": {"from": 4, "to": 16, "factor": 2},
    "/parallel/pipeline": [1, 2, 4, 8],
    "/parallel/tensor": [1, 2, 4],
    "/parallel/data": [1, 2],
    "/parallel/chunks": [1, 2],
    "/model/sequence": [256, 1024],
    "/model/microbatch": [1, 2, 4],
    "/hardware/name": ["dgx-a100", "dgx-h100", "mi300x-node", "tpu-v3-slice"],
    "/hardware/nic_efficiency": {"from": 0.4, "to": 1, "step": 0.3},
    "/hardware/efficiency": [0.4, {"most": 0.8, "half_at_gflop": 4}],
    "/hardware/stack": ["none", "megatron"],
    "/memory/zero": [0, 1, 2, 3],
    "/memory/optimizer": ["adam", "sgd"],
    "/recompute/mode": ["none", "selective", "full"],
    "/partition/name": ["even", "balanced", "simulated"],
    "/codec/stash": ["none", "bfp"],
}
RESULTS = ("/ranks/0/idle_us", "/ranks/0/idle_by_cause_us/warmup", "/bubble/over_ideal", "/nothing")
PLOTS = ("--kind lines", "--kind lines --y makespan_us", "--kind heatmap", "--kind pareto",
         "--kind scaling --y makespan_us", "--kind heatmap --theme dark --width 120mm",
         "--title Mine --height 300")


def sweep_base(draw, by_layers):
    chance = {"chance": {"seed": 3, "jitter": 0.1}} if draw.often(0.2) else {}
    if by_layers:
        return {"model": {"file": f"../made/{draw.choice(['llama', 'mixtral', 'gpt2'])}.json",
                          "sequence": 512}, "hardware": {"name": "dgx-a100"},
                "parallel": {"pipeline": 2},
                "schedule": {"name": "1f1b", "microbatches": 8}} | chance
    detail = ("activation_bytes", "stash_bytes", "parameter_bytes")
    return {"model": {"stages": [costs_of(draw, 1, detail) for _ in range(4)]},
            "hardware": {"name": "ideal", "latency_us": 5, "bandwidth_bytes_per_s": 1e9},
            "codec": {"encode_bytes_per_s": 1e11, "decode_bytes_per_s": 1e11},
            "memory": {"capacity_bytes": 1e9},
            "schedule": {"name": "1f1b", "microbatches": 8}} | chance


def is_number(values):
    return isinstance(values, dict) or all(isinstance(value, (int, float)) for value in values)


def chosen_axes(draw, by_layers):
    axes = LAYER_AXES if by_layers else AXES
    pointers = draw.sample(sorted(axes), draw.choice([1, 2, 2, 2, 3]))
    if not any(is_number(axes[pointer]) for pointer in pointers):
        pointers.append("/schedule/microbatches")
    return {pointer: draw.sample(axes[pointer], min(3, len(axes[pointer])))
            if isinstance(axes[pointer], list) else axes[pointer] for pointer in pointers}


def on_line(values, drawn):
    """Values of an axis as --vary has them."""
    if isinstance(values, list):
        return ",".join(value if isinstance(value, str) else json.dumps(value) for value in values)
    by = next((f"{sign}{values[key]}" for key, sign in (("step", ":"), ("factor", "*"))
               if key in values and not drawn), "")
    return f"{values['from']}..{values['to']}{by}"


def condition(draw, pointer, values):
    """One that some of the values fulfil."""
    value = draw.choice(values) if isinstance(values, list) else values["to"] / 2
    if isinstance(value, (str, dict)):
        return f"{pointer} != {value if isinstance(value, str) else 1}"
    return f"{pointer} {draw.choice(['>=', '<=', '!='])} {value}"


def what_follows(draw, base, axes):
    """What reads the rows of a sweep; most plots are of axes that can be drawn so."""
    x = next(pointer for pointer, values in axes.items() if is_number(values))
    others = [pointer for pointer in axes if pointer != x]
    yield "sweep export out/rows.jsonl -o out/rows.csv"
    if draw.often(0.3):
        yield "sweep export out/rows.jsonl -o out/rows.sqlite"
        yield "plot out/rows.sqlite -o out/table.svg"
    named = f" --x '{x}'" + (f" --by '{others[0]}'" if others else "")
    for number, plot in enumerate(draw.sample(PLOTS, 2)):
        by = named if draw.often(0.6) and "pareto" not in plot else ""
        form = draw.choice(["svg", "svg", "png", "pdf"])
        yield f"plot out/rows.jsonl {plot}{by} -o out/{number}.{form} --csv out/{number}.csv"
    if draw.often(0.6):
        yield f"report out/rows.jsonl {base} -o out/page.html --details {draw.randint(1, 9)}"
    if draw.often(0.2):
        yield "report out/rows.jsonl --rows 5 -o out/short.html"


def sweep(draw, inputs, number):
    """One sweep and what reads its rows, as a line of the shell; half of them by a file."""
    by_layers, by_file, drawn = draw.often(0.4), draw.often(0.5), draw.often(0.25)
    base, file = f"sweeps/{number}.base.json", f"sweeps/{number}.json"
    (inputs / base).write_text(json.dumps(sweep_base(draw, by_layers), indent=1))
    axes = chosen_axes(draw, by_layers)
    where = [condition(draw, *draw.choice(list(axes.items())))] if draw.often(0.3) else []
    results = draw.sample(RESULTS, draw.choice([0, 0, 1, 2]))
    sample = {"method": draw.choice(["random", "sobol"]), "count": 20, "seed": draw.randint(1, 9)}
    settings = ["--set /schedule/samples_per_microbatch=2"] if draw.often(0.3) else []
    options = settings[:]
    if by_file:
        document = {"scenario": f"{number}.base.json", "vary": [{p: v} for p, v in axes.items()],
                    "where": where, "results": results}
        document |= {"set": {"/schedule/samples_per_microbatch": 2}} if settings else {}
        document |= {"sample": sample} if drawn else {}
        if draw.often(0.3) and "/schedule/microbatches" not in axes:
            document["vary"].append({"/schedule/microbatches": {
                "from": 2, "to": 32, "points": 3, "scale": draw.choice(["log", "linear"])}})
        (inputs / file).write_text(json.dumps(document, indent=1))
        base, options, settings = file, [], []
    else:
        options += [f"--vary '{pointer}={on_line(axes[pointer], drawn)}'" for pointer in axes]
        options += [f"--where '{condition}'" for condition in where]
        options += [f"--result {pointer}" for pointer in results]
        if drawn:
            options.append(f"--sample 20 --method {sample['method']}")
            options += [f"--seed {sample['seed']}"] if sample["method"] == "random" else []
    plot = " --plot out/plot.svg" if draw.often(0.3) else ""
    lines = [f"sweep {base} {' '.join(options)} -o out/rows.jsonl{plot}",
             *what_follows(draw, f"{base} {' '.join(settings)}", axes)]
    return "; penstock ".join(lines)


def sweep_commands(draw, inputs):
    (inputs / "sweeps").mkdir()
    for number in range(50):
        yield sweep(draw, inputs, number)
    one = "sweep experiments/scenarios/first_run.json --vary /schedule/microbatches=4..8:1"
    joint = "--vary '/schedule/name=gpipe,1f1b&/schedule/microbatches=4,8'"
    shards = "; penstock ".join(f"{one} --shard {part}/2 -o out/{part}.jsonl" for part in (1, 2))
    yield f"{shards}; penstock sweep merge out/1.jsonl out/2.jsonl -o out/all.jsonl"
    yield f"{one} -o out/a.jsonl; printf torn >>out/a.jsonl; penstock {one} -o out/a.jsonl -j 1"
    yield f"{one} -o out/a.jsonl; penstock {one} --set /hardware/latency_us=9 -o out/a.jsonl"
    yield f"sweep experiments/scenarios/first_run.json {joint} -o -"
    yield f"{one} --plot out/a.png"


# Partitions and searches

CUTS = {"balanced": ["--exactly"], "devices": ["speeds=[1,1,0.5]", "keep_order=false"],
        "ideals": ["most_ideals=20", "counts_first_output=true"],
        "interleaved": ["contiguous=true"],
        "least_traffic": ["balance=1.5"], "memory": ["--memory 40MB", "--memory 1GB"],
        "pipedream": ["published=true", "servers=2"], "simulated": ["evaluations=50"]}

UNLINKED = {"even", "gpipe", "least_traffic"}  # count no transfers


def partition_commands(draw, models):
    for name in PROFILES:
        for method in METHODS:
            ranks, linked = draw.choice([2, 3, 4]), method not in UNLINKED
            links = draw.choice(["", " --bandwidth 10GB/s"]) if linked else ""
            command = f"partition made/{name} --ranks {ranks} --method {method}{links}"
            command += " --devices 4" if method == "pipedream" else ""
            command += " --chunks 2" if method == "interleaved" else ""
            yield command
            transfers = draw.choice(["none", "overlap", "serial"])
            priced = f"{'' if links else ' --bandwidth 1GB/s'} --transfers {transfers}"
            yield f"{command}{priced if linked else ''} --json"
            for option in CUTS.get(method, []):
                yield command + (f" {option}" if option[0] == "-" else f" --set '{option}'")
            yield f"{command} --microbatches 6 --svg out/cut.svg --png out/cut.png"
    for model in (*draw.sample(models, 8), *BUNDLED[:2]):
        yield (f"partition {model} --ranks 4 --hardware {draw.choice(MACHINES)} --sequence 512 "
               f"--microbatch 2 --method {draw.choice(METHODS)} --tensor {draw.choice([1, 2])}")
    yield "partition made/graph.txt --ranks 2 --format pipedream-graph"


def search_commands(draw, inputs):
    (inputs / "searches").mkdir()
    for number in range(40):
        ranks, path = draw.choice([2, 3, 4]), f"searches/{number}.json"
        detail = [key for key in ("activation_bytes", "stash_bytes", "recompute_us")
                  if draw.often(0.6)]
        (inputs / path).write_text(json.dumps({
            "model": {"stages": [costs_of(draw, 0.7, detail) for _ in range(ranks)]},
            "hardware": {"name": "ideal", "latency_us": draw.choice([0, 9]),
                         "bandwidth_bytes_per_s": 1e9},
            "schedule": {"name": "1f1b", "microbatches": draw.randint(2, 8)}}, indent=1))
        command = f"search {path} --evaluations {draw.choice([1, 50, 300])}"
        for share, more in ((0.3, "--json"), (0.4, "-o out/order.csv --scenario out/found.json"),
                            (0.3, "--memory 2e8"), (0.2, "--keep-placement"), (0.3, "--seed 7"),
                            (0.2, "--set /recompute/mode=full --recompute")):
            command += f" {more}" if draw.often(share) else ""
        yield command


# Faults

def places(value):
    """Every container of a document with each of its keys."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from places(value[key])


def spoiled_anywhere(draw, document):
    """The document without a value, with one under a misspelled key, or with another value."""
    document = copy.deepcopy(document)
    container, key = draw.choice(list(places(document)))
    kind = draw.randrange(4)
    if kind == 0:
        del container[key]
    elif kind == 1 and isinstance(container, dict):
        container[key + "x"] = container.pop(key)
    else:
        container[key] = draw.choice([-1, 0, 0.5, "many", [], {}, None, True, 1e300])
    return document
