"""What the tests of the Python package share."""

import json
import os
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["PENSTOCK_PROGRAM"]
FIRST = "experiments/scenarios/first_run.json"
APART = "experiments/scenarios/qwen3_next_80b_exchanges_apart.json"
LLAMA = "experiments/scenarios/llama_8b_on_a_dgx_h100.json"


def module_or_none(name):
    try:
        return __import__(name)
    except ImportError:
        return None


def program(*arguments, code=0):
    """What a command prints; it must end with this exit code."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def program_json(*arguments, code=0):
    return json.loads(program(*arguments, "--json", code=code))


def stages(count, microbatches, **changes):
    """A scenario as a mapping: equal stages on ideal hardware."""
    return {
        "penstock": 1,
        "model": {"stages": [{"forward_us": 1, "backward_input_us": 1, "backward_weight_us": 1}] * count},
        "hardware": {"name": "ideal", "devices": count, "transfer_us": 0},
        "schedule": {"name": "1f1b", "microbatches": microbatches},
        **changes,
    }


def scratch(case: unittest.TestCase) -> str:
    """A folder that goes with the test."""
    folder = tempfile.TemporaryDirectory()
    case.addCleanup(folder.cleanup)
    return folder.name
