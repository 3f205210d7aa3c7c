"""Random scenarios for compare_outputs: all schedules and policies, stages, layers by times and by
kind, machines, shared links, memory, codecs, overheads and chance. Some are wrong on purpose."""
import random


class Draw(random.Random):
    def often(self, share):
        return self.random() < share

    def number(self, low, high):
        return float(f"{low * (high / low) ** self.random():.3g}")  # even in its logarithm


RULES = {  # name: chunks to choose from, and options
    "1f1b": ([1], {}),
    "bpipe": ([1], {}),
    "chimera": ([2], {"remedy": ["none", "forward-doubling"]}),
    "dualpipe": ([2], {}),
    "dualpipev": ([2], {}),
    "eager-1f1b": ([1], {}),
    "forward-only": ([1], {}),
    "gpipe": ([1], {"backward_order": ["ascending", "descending"]}),
    "hanayo": ([2], {"waves": [1]}),
    "interleaved-1f1b": ([2, 3], {}),
    "interleaved-zb": ([2, 3], {}),
    "looped-bfs": ([1, 2, 3], {}),
    "naive": ([1], {}),
    "pipedream": ([1], {}),
    "pipedream-2bw": ([1], {"versions": [2, 3]}),
    "seq-1f1b": ([1], {"slices": [2, 3]}),
    "v-half": ([2], {}),
    "v-min": ([2], {}),
    "zb-h1": ([1], {}),
    "zb-h2": ([1], {}),
    "zb-v": ([2], {}),
    "backward-first": ([1, 2], {"backward": ["whole", "split"], "placement": ["loop", "vee"]}),
    "first-come": ([1, 2], {"backward": ["whole", "split"]}),
    "memory-bounded": ([1, 2], {"backward": ["whole", "split"], "activations": [8, 12]}),
    "zero-bubble": ([1], {"activations": [8, 15]}),
}
POLICIES = ("backward-first", "first-come", "memory-bounded", "zero-bubble")
TWO_WAYS = ("chimera", "dualpipe")  # both chunks of a rank are of the same stages
UNFLUSHED = ("pipedream", "pipedream-2bw")
MACHINES = ("dgx-1", "dgx-1-p100", "dgx-a100", "dgx-b200", "dgx-b300", "dgx-h100", "dgx-h200",
            "gb200-nvl72", "gb300-nvl72", "hls-gaudi2", "mi250x-node", "mi300x-node",
            "mi355x-node", "rtx-pro-server", "tpu-v2-slice", "tpu-v3-slice", "tpu-v4-slice",
            "tpu-v5p-slice", "tpu-v6e-slice")
CODECS = ("bfp", "nonuniform-bfp", "outlier-bfp")


def schedule_of(draw):
    name = draw.choice(sorted(RULES))
    chunks, options = RULES[name]
    ranks, microbatches = draw.randint(1, 8), draw.randint(1, 24)
    if name in TWO_WAYS:
        ranks += ranks % 2
    if name in ("dualpipe", "dualpipev"):
        microbatches = 2 * ranks + 2 * draw.randint(0, 4)
    if name in ("chimera", "interleaved-1f1b", "interleaved-zb"):
        microbatches = ranks * draw.randint(1, max(1, 24 // ranks))
    schedule = {"policy" if name in POLICIES else "name": name, "microbatches": microbatches}
    for key, values in options.items():
        if draw.often(0.4):
            schedule[key] = draw.choice(values)
    if name in ("dualpipe", "dualpipev") and draw.often(0.5):
        schedule["overlap"] = draw.choice(["serial", "fused"])
    return schedule, ranks, draw.choice(chunks)


def costs_of(draw, split, detail):
    costs = {"forward_us": draw.number(1, 1000)}
    if draw.often(split):
        costs["backward_input_us"] = draw.number(1, 1000)
        costs["backward_weight_us"] = draw.number(1, 1000)
    else:
        costs["backward_us"] = draw.number(1, 2000)
    for key in detail:
        costs[key] = draw.number(10, 500) if key.endswith("_us") else draw.number(1e3, 1e8)
    return costs


def model_by_kinds(draw, stages):
    blocks, hidden = stages * draw.randint(1, 2), 64 * draw.randint(1, 16)
    kind = draw.choice(["transformer", "transformer", "experts", "images", "measured"])
    if kind == "measured":
        layers = [{"kind": "measured", "forward_us": draw.number(1, 100), "backward_input_us": 10,
                   "backward_weight_us": draw.number(1, 100), "kept_bytes": 1e6, "input_bytes": 1e5,
                   "output_bytes": 1e5, "parameters": 1000} for _ in range(blocks)]
        return {"microbatch": draw.randint(1, 4), "layers": layers}
    if kind == "images":
        image = {"height": 12, "width": 12}
        conv = {"kind": draw.choice(["conv", "conditional_conv"]), "channels_in": 16,
                "channels_out": 16, "kernel": 3, "relu": True, "repeat": blocks, **image}
        conv |= {"kernels": 3} if conv["kind"] == "conditional_conv" else {}
        last = {"kind": "classifier", "channels": 16, "classes": 16, "even": False, **image}
        return {"microbatch": draw.randint(1, 4), "layers": [conv, last]}
    wide = {"kind": "mlp", "hidden": hidden, "intermediate": 4 * hidden, "gated": draw.often(0.5)}
    if kind == "experts":
        wide = {"kind": "moe", "hidden": hidden, "experts": 8, "chosen": 2,
                "expert_intermediate": hidden}
    attention = {"kind": "attention", "hidden": hidden, "heads": 8, "flash": draw.often(0.7)}
    block = {"repeat": blocks, "parts": [{"kind": "norm", "hidden": hidden}, attention, wide]}
    head = {"kind": "head", "hidden": hidden, "vocab": 5000 + draw.randint(0, 8),
            "tied": draw.often(0.3)}
    ends = {"even": False} if draw.often(0.8) else {}
    layers = [{"kind": "embedding", "vocab": 5000, "hidden": hidden} | ends, block, head | ends]
    model = {"sequence": 128 * draw.randint(1, 8), "microbatch": draw.randint(1, 2),
             "layers": layers}
    return model | ({"dtype": draw.choice(["bf16", "fp16", "fp32"])} if draw.often(0.2) else {})


def share_experts(draw, parallel):
    """Groups of experts out of the devices of a rank, of which there are eight experts."""
    tensor, data = parallel.get("tensor", 1), parallel.get("data", 1)
    if draw.often(0.6):
        whole = draw.often(0.5)
        devices = data * (tensor if whole else 1)
        parallel["expert"] = draw.choice([n for n in (1, 2, 4, 8) if devices % n == 0])
        parallel |= {"expert_tensor": 1} if whole else {}


def hardware_of(draw, ranks, devices, by_kinds):
    speed = {"latency_us": draw.number(0.5, 20), "bandwidth_bytes_per_s": draw.number(1e8, 1e11)}
    kind = draw.choice(["machine", "machine", "roofline"] if by_kinds else
                       ["delay", "speed", "speed", "machine", "topology", "links", "links"])
    if kind == "delay":
        hardware = {"name": "ideal", "transfer_us": draw.number(0.1, 50)}
    elif kind == "speed":
        hardware = {"name": "ideal", **speed}
    elif kind == "machine":
        hardware = {"name": draw.choice(MACHINES)}
    elif kind == "roofline":
        hardware = {"name": "roofline", "device": "a100-sxm4-80gb", "link": "nvlink-3",
                    "devices": devices}
    elif kind == "topology":
        hardware = {"name": "custom", "devices": devices, "topology": {"kind": "nvswitch"}}
        if devices > 2 and devices % 2 == 0:
            hardware["topology"] = {"kind": draw.choice(["rails", "mesh"]),
                                    "devices_per_node": devices // 2,
                                    "nic_bandwidth_bytes_per_s": draw.number(1e9, 1e11)}
    else:
        ends = [(str(rank), "switch") for rank in range(devices)] + [("host", "switch")]
        hardware = {"name": "custom", "devices": devices, "links": [
            {"from": a, "to": b, **speed} for pair in ends for a, b in (pair, pair[::-1])]}
    if by_kinds and draw.often(0.3):
        hardware["efficiency"] = draw.choice([0.5, {"most": 0.8, "half_at_gflop": 4}])
        hardware["kernel_us"] = 2
    if kind in ("topology", "links", "speed") and draw.often(0.4):
        hardware["sharing"] = draw.choice(["fifo", "fair"])
    if draw.often(0.2):
        hardware["transfers"] = draw.choice(
            [{"blocking": True}, {"rendezvous": True}, {"in_flight": 1}, {"sends_in_flight": 1},
             {"receives_in_flight": 2}])
    return hardware


def codec_of(draw, trains):
    name = draw.choice(CODECS)
    codec = draw.choice([name, {"name": name, "bits": draw.randint(3, 8)}, "auto", "none"])
    section = {"stash": codec, "link": draw.choice(["none", "bfp"])}
    if trains and draw.often(0.3):
        phases = [{"iterations": 10, "stash": "bfp"}, {"iterations": 20, "stash": codec}]
        section = {"training": {"phases": phases}}
    section["encode_bytes_per_s"] = draw.number(1e9, 1e12)
    section["decode_bytes_per_s"] = draw.number(1e9, 1e12)
    return section | ({"overlappable": True} if draw.often(0.3) else {})


def chance_of(draw, ranks):
    chance = {"seed": draw.randint(0, 99), "jitter": draw.number(0.01, 0.3)}
    if draw.often(0.4):
        chance["transfer_jitter"] = draw.number(0.01, 0.3)
    if draw.often(0.5):
        chance["stragglers"] = [{"rank": draw.randrange(ranks), "factor": draw.number(1.1, 3)}]
    if ranks > 1 and draw.often(0.3):
        chance["slow_links"] = [{"from": 0, "to": 1, "factor": draw.number(1.1, 5)}]
    return chance


def spoiled(draw, scenario):
    """The scenario with one value that does not belong there, or without one."""
    sections = [key for key, value in scenario.items() if isinstance(value, dict) and value]
    section = scenario[draw.choice(sorted(sections))]
    key = draw.choice(sorted(section))
    kind = draw.randrange(5)
    if kind == 0:
        del section[key]
    else:
        wrong = draw.choice([-1, "many", [], {}, 1e300, None, 0])
        section[key if kind < 4 else "unheard_of"] = wrong
    return scenario


def random_scenario(draw):
    """One scenario as a document; most run, some end with a finding, some are refused."""
    schedule, ranks, chunks = schedule_of(draw)
    name, by_kinds = schedule.get("name"), draw.often(0.3)
    parallel = {"pipeline": ranks, "chunks": chunks}
    if name not in UNFLUSHED and draw.often(0.35):
        parallel["data"] = draw.randint(2, 4)
        parallel["overlap_sums"] = draw.often(0.7)
    if by_kinds and draw.often(0.3):
        parallel["tensor"] = draw.choice([2, 4])
        parallel["sequence"] = draw.often(0.5)
    devices = ranks * parallel.get("data", 1) * parallel.get("tensor", 1)
    detail = [key for key in ("activation_bytes", "stash_bytes", "parameter_bytes",
                              "workspace_bytes", "recompute_us", "recomputed_bytes")
              if draw.often(0.6)]
    split = draw.choice([0, 0.95, 1, 1, 1, 1])  # how often a backward is stated in two parts
    stages = ranks * (1 if name in TWO_WAYS else chunks)
    if by_kinds:
        model = model_by_kinds(draw, stages)
        if any(part["kind"] == "moe" for layer in model["layers"]
               for part in layer.get("parts", [])):
            share_experts(draw, parallel)
    elif draw.often(0.6):
        model = {"stages": [costs_of(draw, split, detail) for _ in range(stages)]}
    else:
        count = stages * draw.randint(1, 3)
        model = {"layers": [costs_of(draw, split, detail) for _ in range(count)]}
        if count > 2 and draw.often(0.2):
            model["edges"] = [[i, i + 1] for i in range(count - 1)] + [[0, count - 1]]
    if not by_kinds and draw.often(0.2):
        schedule["samples_per_microbatch"] = draw.randint(1, 8)
    if "stages" in model and name not in UNFLUSHED and draw.often(0.1):
        model["tied_embedding_bytes"] = draw.number(1e3, 1e7)
    scenario = {"penstock": 1, "model": model, "schedule": schedule, "parallel": parallel,
                "hardware": hardware_of(draw, ranks, devices, by_kinds)}
    if draw.often(0.3):
        scenario["recompute"] = {"mode": draw.choice(["none", "full", "selective", "except_last"])}
        scenario["recompute"] |= {"early": True} if draw.often(0.3) else {}
        if by_kinds and scenario["recompute"]["mode"] == "full" and draw.often(0.3):
            scenario["recompute"] |= {draw.choice(["layers", "together"]): draw.randint(1, 3)}
    memory = {}
    if draw.often(0.4):
        memory["optimizer"] = draw.choice(["none", "sgd", "momentum", "adam"])
    if "data" in parallel and draw.often(0.5):
        memory["zero"] = draw.randint(0, 3)
    if draw.often(0.3):
        memory["capacity_bytes"] = draw.number(2e7, 2e10)
        if draw.often(0.6):
            memory |= {"policy": "stall", "reserve": 0.1}
    scenario |= {"memory": memory} if memory else {}
    if name in ("1f1b", "gpipe", "zb-h1", "interleaved-1f1b") and draw.often(0.2):
        scenario["offload"] = {"keep": draw.randint(1, 6), "ahead": draw.randint(0, 2)}
    if draw.often(0.1):
        scenario["offload"] = scenario.get("offload", {}) | {"layers": draw.randint(1, 3)}
    if draw.often(0.2):
        scenario["codec"] = codec_of(draw, name != "forward-only")
    if draw.often(0.25):
        keys = ("optimizer_us", "warm_up_us", "launch_us", "issue_us")
        scenario["overheads"] = {key: draw.number(0.1, 50) for key in keys if draw.often(0.5)}
        for key in ("compute_slowdown_by_transfer", "transfer_slowdown_by_compute"):
            scenario["overheads"] |= {key: draw.number(1, 2)} if draw.often(0.2) else {}
    if draw.often(0.2):
        scenario["chance"] = chance_of(draw, ranks)
    if draw.often(0.05):
        scenario["expect"] = {"makespan_us": {"value": draw.number(1e3, 1e5), "within": 0.5}}
    return spoiled(draw, scenario) if draw.often(0.08) else scenario
