"""The commands that compare_outputs runs, but for random ones. Each is a line for a shell, without
"penstock" in front; `ask` runs one at once among the inputs and gives its outputs, for those that
depend on what the program has."""
import gzip, json, shutil

import random_requests, small_models
from random_scenarios import CODECS, POLICIES, Draw, random_scenario

COLLECTIVES = "all_reduce reduce_scatter all_gather all_to_all broadcast ring_exchange".split()
GROUPS = {"dgx-a100": 4, "dgx-h100": 16, "dgx-1": 8, "tpu-v3-slice": 16, "mi300x-node": 16}
PROFILE_ACTIONS = ("list", "show", "check", "fit", "retire", "snapshot")
SLOW_PAPERS = {"megatron_a100", "llm_foundry"}  # to fit: 40 to 60 s
SLOWEST_PAPERS = {"megatron", "vtrain"}


def each(command, *options):
    """The command with each of the options."""
    return [f"{command} {option}".strip() for option in options]


def made_trace(rank):
    """What PyTorch's profiler would write of one rank of two: forwards, then backwards."""
    events, end = [], 0

    def span(category, name, begin, length, thread, **args):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 0, "tid": thread,
                       "ts": begin, "dur": length, "args": args})

    ops = [f"{rank}{letter}{i}" for letter in "FB" for i in range(3)]
    for number, op in enumerate(ops, 1):
        begin = max(end, 100 + number * 40 + (rank if "F" in op else 1 - rank) * 40)
        end = begin + (20 if "F" in op else 35)
        span("user_annotation", f"PP:{op}", begin - 5, end - begin, 1)
        span("cuda_runtime", "cudaLaunchKernel", begin - 4, 1, 1, correlation=number)
        span("kernel", "gemm", begin, end - begin, 7, correlation=number, stream=7)
    span("user_annotation", "ProfilerStep#3", 50, 500, 1)
    return json.dumps({"baseTimeNanoseconds": 10**18, "traceEvents": events,
                       "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}})


def mangled(order):
    """The order, and without a cell, with a row reversed, without a row, with an unknown letter."""
    rows = [row.split(",") for row in order.splitlines()]
    first, others = rows[0], rows[1:]
    for wrong in ([first[:-2] + first[-1:], *others], [first[::-1], *others], rows[:-1],
                  [first[:1] + ["0Q0"] + first[2:], *others]):
        yield "\n".join(map(",".join, wrong)) + "\n"


def scenario_commands(path):
    yield f"run {path}"
    yield (f"run {path} --json --svg out/run.svg --trace out/trace.json "
           "--write-order out/order.csv --timeline out/run.timeline")
    if "/refused/" in path:
        yield f"validate {path} --backend cpu_logical"  # refused too, so nothing is measured
        return
    yield f"run {path} --png out/run.png --pdf out/run.pdf --trace out/trace.json.gz"
    yield f"run {path} --html out/page.html --all --verbose"
    yield f"plot {path} --kind memory -o out/memory.svg --csv out/memory.csv"
    yield f"validate {path} --backend cuda_single --gpu-program out/program"
    yield from each(f"run {path}", "--chakra out/plan", "--repeat 5 --json",
                    "--engine relax --json", "--engine events --json",
                    "--set /schedule/microbatches=3 --set /hardware/latency_us=7")
    yield from each(f"explain {path}", "--svg out/why.svg", "--json", "--memory", "--memory --json")
    yield from each(f"compare {path} experiments/scenarios/first_run.json", "", "--json",
                    "--align makespan --tolerance 0.1")


def random_commands(inputs):
    (inputs / "random").mkdir()
    draw = Draw(14)
    for number in range(1000):
        path = f"random/{number}.json"
        (inputs / path).write_text(json.dumps(random_scenario(draw), indent=1))
        yield f"run {path} --json"
        if number % 5 == 0:
            yield (f"run {path} --timeline out/run.timeline --trace out/trace.json "
                   "--write-order out/order.csv --svg out/run.svg")
            yield from each(f"explain {path}", "", "--json", "--memory", "--memory --json")
            yield f"run {path} --engine events --json"


def schedule_commands(ask, inputs):
    (inputs / "orders").mkdir()
    layers = [{"forward_us": 10 + i % 3, "backward_input_us": 9 + i % 5,
               "backward_weight_us": 8 + i % 2, "activation_bytes": 1000 + i,
               "stash_bytes": 5000, "parameter_bytes": 700} for i in range(48)]
    hardware = {"name": "ideal", "latency_us": 1, "bandwidth_bytes_per_s": 1e9}
    listed = json.loads(ask("list schedules --json")["stdout"])["schedules"]
    names = [("name", entry["name"]) for entry in listed] + [("policy", name) for name in POLICIES]
    for kind, name, p, m in [(*name, p, m) for name in names for p in (2, 4, 8)
                             for m in (p, 2 * p, 4 * p)]:
        path = f"orders/{name}-{p}-{m}"
        chunks = 2 if "interleaved" in name else None
        (inputs / f"{path}.json").write_text(json.dumps(
            {"model": {"layers": layers}, "hardware": hardware,
             "parallel": {"pipeline": p} | ({"chunks": chunks} if chunks else {}),
             "schedule": {kind: name, "microbatches": m}}))
        yield f"run {path}.json --json --write-order out/order.csv"
        if kind == "policy":
            continue
        order = f"schedule {name} --ranks {p} --microbatches {m}"
        order += f" --chunks {chunks}" if chunks else ""
        yield from each(order, "", "--comms", "--fsdp", "--chunks 3")
        text = ask(order)["stdout"]
        for number, version in enumerate([text, *mangled(text)] if text else []):
            (inputs / f"{path}-{number}.csv").write_text(version)
            yield f"check {path}-{number}.csv" + (" --json" if p == 4 else "")


def known_words(outputs):
    """What a command that was given an unknown word says that it knows."""
    return outputs["stderr"].partition("known: ")[2].partition(";")[0].split(", ")


def completed(ask, typed):
    """The words that completion offers behind what is typed."""
    lines = ask(f"completion bash -- {typed} ''")["stdout"].splitlines()
    return [word for word in (line.split("\t")[0] for line in lines) if not word.startswith("-")]


def help_commands(ask):
    """Pages, lists, schemas, completions: by the names that the program itself gives."""
    yield from ("", "--help", "--version", "unheard-of", "run", "run no_such_file.json",
                "help", "help unheard-of", "help --man out/man")
    for topic in completed(ask, "help"):
        yield f"help {topic}"
    for command in completed(ask, ""):
        yield from each(command, "--help", "--unheard-of", "x y --jso")
        yield from (f"completion bash -- {command} --", f"completion fish -- {command} ''")
    yield from each("profile", "", *(f"{action} --help" for action in PROFILE_ACTIONS))
    yield from each("completion", "bash", "zsh", "fish", "bash -- run x --set /")
    for kind in known_words(ask("schema unheard-of")):
        yield f"schema {kind}"
    for kind in known_words(ask("list unheard-of")):
        if kind == "backends":  # what is missing on this machine is no output of the program alone
            yield from ("list backends | grep -v 'not here'", "list backends --json | grep -v obst")
            continue
        yield from each(f"list {kind}", "", "--json", "unheard-of")
        for entry in json.loads(ask(f"list {kind} --json")["stdout"])[kind]:
            yield from each(f"list {kind} {entry['name']}", "", "--json")
    own = "PENSTOCK_HARDWARE=tests/scenarios/hardware penstock"
    yield f"list hardware workshop; {own} list hardware; {own} list hardware workshop"


def look_commands():
    looks = ("--width 85mm", "--height 3in --font-size 14", "--theme dark --title Mine",
             "--width 85parsec")
    scenario = "experiments/scenarios/first_run.json"
    yield from each("gallery", "-o out", "--ranks 6", "--microbatches 12", "-o out " + looks[2])
    for form, ranks in (("svg", 4), ("svg", 8), ("png", 8), ("pdf", 4)):
        yield f"plot --kind bubble --ranks {ranks} -o out/bubble.{form}"
    yield from each("plot --kind bubble --ranks 4 --csv out/bubble.csv", "--bubble over_ideal",
                    "--bubble of_longest_span", "--schedules 1f1b,interleaved-1f1b:2,dualpipe",
                    "--microbatches 4,8,24", "--schedules 2f2b")
    for look in looks:
        for form in ("svg", "png", "pdf"):
            yield f"run {scenario} --{form} out/run.{form} {look}"
            yield f"explain {scenario} --{form} out/why.{form} {look}"
            yield f"plot {scenario} -o out/run.{form} {look}"
    for kind, form in (("calibration", "svg"), ("calibration", "png")):
        yield (f"plot --kind {kind} experiments/calibration/calibration.json.gz -o out/a.{form} "
               "--csv out/a.csv")
    yield "reproduce experiments/papers/gpipe -o out/a.json; " \
          "penstock plot --kind published out/a.json -o out/a.svg --csv out/a.csv"
    yield from each("gallery -o out", *looks)
    for line in (f"run {scenario} --svg", f"run {scenario} --trace", f"run {scenario} --html",
                 f"explain {scenario} --png", f"plot {scenario} -o", "new -o",
                 f"search {scenario} --evaluations 9 -o", "reproduce experiments/papers/gpipe -o",
                 f"validate {scenario} --backend cuda_single --gpu-program",
                 "trace rank0.json rank1.json --timeline",
                 "partition made/graph.txt --ranks 2 --svg",
                 "layout made/llama.json --hardware dgx-1 --devices 4 --microbatch 1 --svg",
                 f"sweep {scenario} --vary /schedule/microbatches=4,8 --plot"):
        form = {"--trace": "json", "--html": "html", "--png": "png"}.get(line.split()[-1], "svg")
        form = "json" if line.startswith(("new", "reproduce")) else form
        line += f" out/a.{form}"
        yield f"--version >out/a.{form}; penstock {line}; penstock {line} --force; penstock {line}"
    for kind in ("report out/a.jsonl -o", "sweep export out/a.jsonl -o"):
        line = f"{kind} out/a.{'html' if 'report' in kind else 'csv'}"
        yield (f"sweep {scenario} --vary /schedule/microbatches=4,8 -o out/a.jsonl; "
               f"penstock --version >out/a.html; cp out/a.html out/a.csv; "
               f"penstock {line}; penstock {line} --force")
    yield "--version >out/penstock.1; penstock help --man out; penstock help --man out --force"


def codec_and_collective_commands():
    for codec in CODECS:
        yield from each(f"codec {codec}", "", "--json", "--set bits=5 --bandwidth 2e12")
        yield from each(f"codec {codec} --distribution", "gauss", "relu", "heavy-tailed",
                        "gauss --values 1000 --json")
    for kind in COLLECTIVES:
        for machine, devices in GROUPS.items():
            yield f"collective {kind} --bytes 1e8 --hardware {machine} --devices {devices}"
        yield f"collective {kind} --bytes 1e8 --hardware dgx-h100 --devices 8 --stride 2 --json"
        yield f"collective {kind} --bytes 1MB --hardware dgx-b200 --devices 4096 --formula"
        yield f"collective {kind} --bytes 1e6 --hardware dgx-a100 --devices 16 --algorithm ring"
        yield (f"collective {kind} --bytes 1e6 --devices 2 "
               "--hardware tests/scenarios/hardware/workshop.json")


def key_commands(ask, inputs):
    """Each key of a scenario with right and wrong values, and misspelled; spoiled documents."""
    bases = ("experiments/scenarios/first_run.json", "made/layers.json")
    (inputs / bases[1]).write_text(json.dumps(
        {"model": {"file": "llama.json", "sequence": 512}, "hardware": {"name": "dgx-a100"},
         "parallel": {"pipeline": 2, "tensor": 2, "data": 2},
         "schedule": {"name": "1f1b", "microbatches": 8}}))
    schema = json.loads(ask("schema scenario")["stdout"])
    for pointer, words in schema_pointers(schema).items():
        for base in bases:
            for value in (*words, "2", "0.5", "-1", "many", "7us", "true", "[]"):
                yield f"run {base} --set {pointer}={value}"
        yield f"run {bases[0]} --set {pointer}x=1"
    draw = Draw(31)
    (inputs / "spoiled").mkdir()
    hardware = {name: json.loads(ask(f"list hardware {name} --json")["stdout"]) for name in
                ("dgx-h100", "h100-sxm5-80gb", "fsdp-compiled", "nvlink-4")}
    papers = {name: json.loads((inputs / f"experiments/papers/{name}/paper.json").read_text())
              for name in ("gpipe", "pipedream", "zero_bubble")}
    sweeps = {"sweep": {"penstock": 1, "scenario": f"../{bases[0]}", "set": {"/chance/seed": 3},
                        "vary": [{"/schedule/microbatches": {"from": 4, "to": 9, "step": 1}},
                                 {"/schedule/name": ["gpipe", "1f1b"]}],
                        "where": ["/schedule/microbatches <= 8"],
                        "sample": {"method": "random", "count": 3, "seed": 2},
                        "results": ["/ranks/0/idle_us"]}}
    collective = "collective all_reduce --bytes 1e6 --devices 8 --hardware "
    for documents, command in ((hardware, collective), (papers, "reproduce --summary "),
                               (sweeps, "sweep -o - ")):
        for name, document in documents.items():
            for number in range(80):
                path = f"spoiled/{name}-{number}.json"
                (inputs / path).write_text(json.dumps(
                    random_requests.spoiled_anywhere(draw, document), indent=1))
                yield command + path


def schema_pointers(schema):
    """A pointer to every key that a schema names, with its words, if it has some; of lists to
    the first item."""
    found = {}

    def walk(node, pointer):
        if "$ref" in node:
            node = schema["definitions"][node["$ref"].rpartition("/")[2]]
        for key, value in node.get("properties", {}).items():
            found[f"{pointer}/{key}"] = value.get("enum", [])
            walk(value, f"{pointer}/{key}")
        if isinstance(node.get("items"), dict):
            walk(node["items"], f"{pointer}/0")
        for branch in (*node.get("oneOf", []), *node.get("anyOf", [])):
            walk(branch, pointer)

    walk(schema, "")
    return found


def file_commands(ask, inputs):
    for folder in ("experiments/models", "tests/scenarios/files"):
        for path in sorted((inputs / folder).iterdir()):
            yield from each(f"describe {path.relative_to(inputs)}", "", "--json",
                            "--tensor 2 --sequence 1024 --sequence-parallel")
    for path in sorted((inputs / "experiments/papers").glob("*/paper.json")):
        paper = path.parent.relative_to(inputs)
        yield f"reproduce {paper} --scenario 1"
        if paper.name not in SLOWEST_PAPERS:
            yield f"reproduce {paper} -o out/paper.md"
        if paper.name not in SLOWEST_PAPERS | SLOW_PAPERS:
            yield from each(f"reproduce {paper}", "-o out/paper.json", "--json", "--summary")
        yield from each(f"reproduce {paper} --constants {paper}/results.md", "--json",
                        "-o out/paper.json", "--anchor 1 --summary")
    paper = "experiments/papers/llm_foundry"
    yield from each(f"reproduce {paper} --constants {paper}/results.md", "--table H100 --summary",
                    f"--rows {paper}/a100.csv --json", "--table none", "--scenario 1000")
    for name in ("first_run", "small_transformer"):
        path, scenario = f"{name}.timeline", f"experiments/scenarios/{name}.json"
        ask(f"run {scenario} --timeline out/{path}")
        shutil.copy(inputs / "out" / path, inputs / path)
        yield from each(f"plot --kind timeline {path} -o", "out/a.svg", "out/a.png", "out/a.pdf")
        yield from each(f"compare first_run.timeline {path}", "", "--json", "--align first-op")
        yield f"compare {path} {scenario} --set /schedule/microbatches=5"
    for rank in (0, 1):
        (inputs / f"rank{rank}.json").write_text(made_trace(rank))
    (inputs / "rank1.json.gz").write_bytes(gzip.compress(made_trace(1).encode(), mtime=0))
    for ranks in ("rank0.json rank1.json", "rank0.json rank1.json.gz", "rank0.json"):
        yield from each(f"trace {ranks} --timeline out/a", "--samples 4 --step 3",
                        "--pattern 'PP:{stage}{pass}{microbatch}'", "--pipeline-ranks 1,0",
                        "--gaps --schedule gpipe --microbatches 3 --chunks 1")
        yield from each(f"trace {ranks}", "", "--json", "--preview",
                        "--schedule gpipe --microbatches 3",
                        "--timeline out/a.timeline --profile out/profile.json "
                        "--scenario out/a.json --write-order out/order.csv")


    for folder in sorted((inputs / "tests/torch/traces").iterdir()):
        ranks = f"tests/torch/traces/{folder.name}/rank*"
        yield from each(f"trace {ranks}", "", "--json", "--preview",
                        "--timeline out/a.timeline --profile out/profile.json "
                        "--scenario out/a.json; penstock compare out/a.timeline out/a.json")


def more_commands():
    """Flags that nothing above tries."""
    scenario, order = "experiments/scenarios/first_run.json", "schedule 1f1b --ranks 2"
    yield from each(f"{order} --microbatches 4", "--comms --torch 2.9", "--fsdp --torch 2.14",
                    "--torch 1.0", "| penstock check - --json", "--set group=3")
    yield "schedule gpipe --ranks 2 --microbatches 3 --set backward_order=descending"
    yield "schedule chimera --ranks 4 --microbatches 8 >out/o.csv; " \
          "penstock check out/o.csv --chains '0,1,2,3;4,5,6,7'; penstock check out/o.csv"
    yield from each(f"run - <{scenario}", "", "--json --allow-stale", "--svg -")
    yield from each(f"explain {scenario}", "--set /hardware/latency_us=500",
                    "--memory --set /memory/capacity_bytes=1GB")
    small = "validate experiments/scenarios/four_sleeping_layers.json"
    measured = [f"validate {scenario} --backend cpu_logical --set /schedule/microbatches=4",
                f"validate {scenario} --backend cpu_timed --bodies sleep --iterations 20",
                f"{small} --schedules gpipe,1f1b --action-us 100",
                f"{small} --processes 2 --timeline out/a --simulated out/b"]
    for line in measured:  # what was measured differs, and what is said of it; its form does not
        yield f"{line} --json 2>out/said | grep -o '^  \"[a-z_]*\":'; rm -f out/*"
    yield f"{small} --backend cuda_single --gpu-program out/program"
    yield (f"run {scenario} --timeline out/a; penstock explain out/a; "
           "penstock plot --kind memory out/a -o out/a.svg")
    shots = ("", "--theme dark --size 1280x720", "--theme contrast", "--select 'stage:3 kind:B'",
             "--compare experiments/scenarios/small_transformer.json")
    yield from each(f"view {scenario} --screenshot out/view.png", *shots)
    yield from each("view --screenshot out/view.png", "tests/scenarios/files/ten.csv",
                    "rank0.json rank1.json", "experiments/scenarios/gpt_175b_on_dgx_a100.json")


def gpu_probes():
    """What penstock_gpu_check would write of a GPU: rates, launches, copies and neighbours."""
    def row(kernel, shape, ns, condition="solo"):
        return {"kernel": kernel, "pass": "", "shape": shape, "condition": condition,
                "measured_at": "2020-01-02T12:00:00Z",
                "samples_ns": [round(ns * (1 + i / 1000), 3) for i in range(-4, 5)]}

    for sms in range(8, 136, 8):
        yield row("flops", f"multiply_adds={10**9 * sms} sms={sms}", 1e6)
        yield row("bytes", f"bytes=1000000000 sms={sms}", 1e9 / min(32 * sms, 3000))
        yield row("products", f"products=16 size=2048 sms={sms}", 4e7 / sms)
    for count in (1, 10, 100):
        yield row("launch_issue", f"launches={count}", 500 + 2000 * count)
        yield row("launch_round_trip", f"launches={count}", 6000 + 2000 * count)
        yield row("graph", f"nodes={count}", 6000 + 900 * count)
        yield row("copy", f"bytes={65536 * count}", 2000 + 65536 * count / 20)
    for count in (1, 3):
        yield row("bytes", "bytes=1000000000 sms=32", 1e6 * (1 + count / 4),
                  f"pair:bytes x{count}")


def store_commands(inputs):
    """A store of measurements, from the probes of another machine on."""
    folder, out = inputs / "probes", "out/a.profile"
    folder.mkdir()
    fact = {"about": "device", "device": "made-up GPU", "cc": "9.0", "sms": 132, "cuda": 13000,
            "cudart": 12060, "driver": "NVRM version: Kernel Module  580.159.03  Tue",
            "mode": "green_contexts"}
    (folder / "facts.jsonl").write_text(json.dumps(fact) + "\n")
    (folder / "probes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in gpu_probes()))
    yield from each("calibrate --import probes", "", "--json", "--report out/report.txt")
    for action in ("list", "list --json", "show 1", "show 2 --json", "show 999", "check",
                   "check --json", "check --record", "check --recover out/b.profile", "fit",
                   "fit --json --environment 1", "retire 1 2 --why fan", "snapshot -o out/a.json",
                   "snapshot --environment 1 -o -"):
        verb, _, rest = action.partition(" ")
        yield (f"calibrate --import probes -o {out} >out/log; "
               f"penstock profile {verb} {out} {rest}; code=$?; rm -f out/*.profile*; exit $code")


def all_commands(ask, inputs):
    for folder in ("tests/scenarios", "experiments/scenarios"):
        for path in sorted((inputs / folder).rglob("*.json")):
            if path.parent.name not in ("files", "hardware"):
                yield from scenario_commands(str(path.relative_to(inputs)))
    yield from schedule_commands(ask, inputs)
    yield from help_commands(ask)
    yield from look_commands()
    yield from codec_and_collective_commands()
    yield from file_commands(ask, inputs)
    yield from more_commands()
    yield from store_commands(inputs)
    yield from random_commands(inputs)
    draw = Draw(31)
    models = small_models.write_models(draw, inputs)
    yield from small_models.format_commands(inputs)
    yield from key_commands(ask, inputs)
    yield from random_requests.layout_commands(draw, models)
    yield from random_requests.sweep_commands(draw, inputs)
    yield from random_requests.partition_commands(draw, models)
    yield from random_requests.search_commands(draw, inputs)
