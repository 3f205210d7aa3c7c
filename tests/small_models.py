"""Small models for compare_outputs, in every format that Penstock reads."""
import json

ARCHITECTURES = ("deepseek_v2 deepseek_v3 gemma gemma2 gemma3_text glm4_moe gpt2 gpt_neox "
                 "gpt_oss llama llama4_text mistral mixtral opt phi3 qwen2 qwen2_moe qwen3 "
                 "qwen3_moe").split()
PROFILES = ("graph.txt", "profile.json", "profile.csv", "training.json", "piper.json")


def config(draw, architecture):
    """A transformer as Hugging Face states it, with the keys of every architecture."""
    heads, hidden = draw.choice([8, 16]), 256 * draw.randint(1, 8)
    text = {"model_type": architecture, "num_hidden_layers": draw.choice([4, 8, 12, 16]),
            "hidden_size": hidden, "num_attention_heads": heads,
            "num_key_value_heads": draw.choice([2, 4, 8]), "intermediate_size": 4 * hidden,
            "vocab_size": 1000 * draw.randint(8, 64), "max_position_embeddings": 4096}
    if architecture == "gpt2":
        return {"model_type": "gpt2", "n_layer": text["num_hidden_layers"], "n_embd": hidden,
                "n_head": heads, "n_positions": 2048, "vocab_size": 50257}
    experts = {"num_experts_per_tok": 2, "moe_intermediate_size": hidden}
    if architecture.startswith("deepseek"):
        return text | experts | {
            "n_routed_experts": 8, "n_shared_experts": 1, "first_k_dense_replace": 1,
            "q_lora_rank": 96, "kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16,
            "v_head_dim": 32, "num_nextn_predict_layers": draw.randint(0, 1)}
    if any(word in architecture for word in ("moe", "mixtral", "oss", "llama4")):
        text |= experts | {"num_experts": 8, "intermediate_size_mlp": 2 * hidden}
    return text


def megatron_script(draw):
    degrees = [draw.choice([1, 2]), draw.choice([1, 2, 4])]
    flags = {"num-layers": 8, "hidden-size": 128 * draw.randint(2, 8), "num-attention-heads": 8,
             "seq-length": 1024, "max-position-embeddings": 1024, "vocab-size": 32000,
             "micro-batch-size": draw.choice([1, 2]), "global-batch-size": 64,
             "tensor-model-parallel-size": degrees[0],
             "pipeline-model-parallel-size": degrees[1]}
    words = [f"--{key} {value}" for key, value in flags.items()]
    words += ["--bf16", "--swiglu"][:draw.randint(1, 2)]
    words += draw.choice([[], ["--sequence-parallel"], ["--use-distributed-optimizer"],
                          ["--recompute-activations"]])
    return "torchrun --nproc_per_node 8 pretrain_gpt.py \\\n    " + " \\\n    ".join(words) + "\n"


def edges_of(draw, layers):
    """A chain with a few shortcuts."""
    chain = [(i, i + 1) for i in range(layers - 1)]
    return chain + [(i, i + 2) for i in range(layers - 2) if draw.often(0.2)]


def pipedream_graph(draw, layers):
    keys = {"forward_compute_time": 1, "backward_compute_time": 2, "activation_size": 1e6,
            "parameter_size": 2e6}
    lines = [f"node{i + 1} -- Linear({i}) -- " + ", ".join(
        f"{key}={scale * draw.randint(1, 9)}" for key, scale in keys.items())
        for i in range(layers)]
    return "\n".join(lines + [f"\tnode{a + 1} -- node{b + 1}" for a, b in edges_of(draw, layers)])


def dnn_graph(draw, layers):
    """A training graph: node i has the backward node 100 + i; each is a color of its own."""
    def node(number, layer, back):
        ms = draw.randint(1, 9)
        return {"id": number, "name": f"op{number}", "supportedOnFpga": 1, "cpuLatency": 10 * ms,
                "fpgaLatency": ms, "isBackwardNode": int(back), "size": 1e6, "colorClass": layer}

    edges = [(a, b) for a, b in edges_of(draw, layers)]
    edges += [(100 + b, 100 + a) for a, b in edges] + [(layers - 1, 99 + layers)]
    return {"maxSizePerFPGA": 16e9, "maxFPGAs": 2, "maxCPUs": 1,
            "nodes": [node(100 * back + i, i, back) for back in (0, 1) for i in range(layers)],
            "edges": [{"sourceId": a, "destId": b, "cost": 1, "size": 5e5} for a, b in edges]}


def piper_graph(draw, layers):
    def variant(name, seconds, each):
        return {"id": name, "timePerSample": seconds, "parameterSize": 4e6, "memoryUsageA": each,
                "memoryUsageB": 8e6, "syncTimeFw": {}, "syncTimeBw": {}}

    nodes = []
    for i in range(layers):
        ms = draw.randint(3, 12)
        nodes.append({"id": i, "name": f"layer{i}", "TMPCs": {"1": [
            variant("vanilla", ms / 1e3, 2e6), variant("activation recomp", ms / 750, 5e5)]}})
    return {"maxDevices": 4, "maxMemoryPerDevice": 1e9, "bandwidth": 1e9, "mbsInBatch": 8,
            "nodes": nodes, "edges": [{"sourceId": a, "destId": b, "communicationCost": 64e3}
                                      for a, b in edges_of(draw, layers)]}


def profile_points(draw):
    start = draw.randint(1, 20)
    return [{"examples": n, "forward_us": start + 5 * n, "backward_us": start + 11 * n,
             "parameter_bytes": 4e6, "activation_bytes": 1e5 * n, "stash_bytes": 3e5 * n}
            for n in (1, 4, 16)]


def write_models(draw, inputs):
    """Small models below made/, in every format that is read; returns the transformers."""
    folder, layers = inputs / "made", 10
    folder.mkdir()
    names = [f"layer{i}" for i in range(layers)]
    points = {name: profile_points(draw) for name in names}
    rows = [f"{name},{','.join(str(value) for value in point.values())}"
            for name in names for point in points[name]]
    sizes = {name: [{key: value for key, value in point.items() if key != "parameter_bytes"}
                    for point in points[name]] for name in names}
    profile = {"layers": [{"name": name, "parameter_bytes": 4e6, "points": sizes[name]}
                          for name in names]}
    placement = {"cpus": [{"load": 1, "nodes": [9]}], "maxLoad": 3, "fpgas": [
        {"load": 3, "nodes": [0, 1, 2, 3]}, {"load": 2, "nodes": [4, 5, 6, 7, 8]}]}
    texts = {"graph.txt": pipedream_graph(draw, layers),
             "conf.json": {"module_to_stage_map": [0] * 4 + [1] * 6,
                           "stage_to_rank_map": {"0": [0, 1], "1": [2]}},
             "training.json": dnn_graph(draw, layers), "placement.json": placement,
             "piper.json": piper_graph(draw, layers),
             "profile.json": {"penstock": 1, "profile": profile},
             "profile.csv": "\n".join([",".join(["layer", *points["layer0"][0]]), *rows, ""])}
    models = {f"{name}.json": config(draw, name) for name in ARCHITECTURES}
    models |= {f"megatron{i}.sh": megatron_script(draw) for i in range(4)}
    for name, text in (texts | models).items():
        (folder / name).write_text(text if isinstance(text, str) else json.dumps(text, indent=1))
    return [f"made/{name}" for name in models]


def format_commands(inputs):
    """Every format by what reads it: as a model, cut, and run."""
    for name in (*PROFILES, "conf.json", "placement.json"):
        yield f"describe made/{name}"
        yield f"describe made/{name} --json --microbatch 4"
        scenario = {"model": {"file": name}, "hardware": {"name": "ideal", "transfer_us": 5},
                    "parallel": {"pipeline": 2}, "schedule": {"name": "1f1b", "microbatches": 4}}
        (inputs / f"made/run-{name}.json").write_text(json.dumps(scenario))
        run = f"run made/run-{name}.json"
        yield run
        yield f"{run} --json --set /model/microbatch=2 --set /model/profiled_microbatch=4"
        yield f"{run} --json --set /model/microbatch=2 --set /partition/name=balanced"
    cut = "--set '/partition={\"file\": \""
    yield (f"run made/run-graph.txt.json {cut}conf.json\"}}' --set /parallel/pipeline=3 "
           "--set /schedule/name=pipedream")
    yield f"run made/run-training.json.json {cut}placement.json\"}}' --set /parallel/pipeline=3"
    for kind in ("dnn-partitioning", "hf-config", "piper", "profile-csv", "unheard-of"):
        yield f"describe made/training.json --format {kind}"
    for name in ARCHITECTURES:
        yield f"describe made/llama.json --arch {name}"
        yield f"describe made/{name}.json --tensor 2 --dtype fp8 --sequence 512"
        yield f"describe made/{name}.json --context 2 --sequence-parallel --json"
        yield f"describe made/{name}.json --expert 2"
