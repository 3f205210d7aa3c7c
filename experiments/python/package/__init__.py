"""Simulates pipeline-parallel training and shows where the time goes.

>>> import penstock as ps
>>> run = ps.run("experiments/scenarios/first_run.json", set={"/schedule/name": "zb-h1"})
>>> print(run.step_time, run.memory.peak, f"{run.bubble.of_step:.1%}")
31.05 ms 1.008 GiB 22.7%

The functions do what the commands of the program `penstock` do, with the same
numbers. A scenario is the path of a JSON file or a mapping of the same form;
relative paths in a mapping are resolved against the working folder. `set`
changes keys of it by JSON pointer. Times are `Seconds`, memory is `Bytes`:
numbers that print with their unit.
"""

from ._core import version as __version__
from ._inputs import set_max_memory
from .errors import Error, ScenarioError, UnfinishedError, UsageError
from .layouts import Layout, Layouts, layout
from .orders import Order, Rule, rule, schedule
from .runs import Bubble, Finding, Memory, Run, Throughput, run
from .sweeps import Sweep, sweep
from .tables import Column, Table
from .units import Bytes, Seconds

__all__ = [
    "Bubble",
    "Bytes",
    "Column",
    "Error",
    "Finding",
    "Layout",
    "Layouts",
    "Memory",
    "Order",
    "Rule",
    "Run",
    "ScenarioError",
    "Seconds",
    "Sweep",
    "Table",
    "Throughput",
    "UnfinishedError",
    "UsageError",
    "__version__",
    "layout",
    "rule",
    "run",
    "schedule",
    "set_max_memory",
    "sweep",
]
