"""One simulated run."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from . import _core
from ._inputs import Scenario, Settings, Source, checked, number_if_given, source_of, whole
from .errors import UnfinishedError, UsageError
from .orders import Order, Rule
from .tables import Table
from .units import Bytes, Seconds


@dataclass(frozen=True)
class Bubble:
    """The three bubble fractions that papers use."""

    of_step: float
    """Mean idle share of the ranks."""
    over_ideal: float
    """Step time over the work of the busiest rank, minus 1."""
    of_longest_span: float
    """1 minus the work of the busiest rank over the longest span of a rank."""


@dataclass(frozen=True)
class Memory:
    """Memory of the devices at their peaks."""

    peak: Bytes
    """Of the rank that needs most."""
    rank: int
    """That rank."""
    by_kind: dict[str, Bytes]
    """What it holds then; adds up to the peak."""
    capacity: Bytes | None
    """Of a device, if it is known."""
    reserved: Bytes
    """Of it, what is taken before the training takes any."""
    fits: str | None
    """"fits", "may fit" or "does not fit"; None without a capacity."""
    interval: tuple[Bytes, Bytes]
    """Where the peak is with what the model of memory leaves open."""
    ranks: list[Bytes]
    """Peaks by rank."""


@dataclass(frozen=True)
class Throughput:
    """What a run achieves. Values that model or hardware leave open are None."""

    samples_per_s: float
    tokens_per_s: float | None
    tokens_per_s_per_device: float | None
    model_tflops_per_device: float | None
    """FLOPs of the model alone, in 1e12 per second."""
    model_flops_utilization: float | None
    """MFU: over the dense peak of the devices in their precision."""
    hardware_flops_utilization: float | None
    """HFU: recomputation counts, too."""


@dataclass(frozen=True)
class Finding:
    """A problem that the program ends with exit code 1 for."""

    kind: str
    """"out_of_memory", "deadlock", "expectation" …"""
    rank: int | None
    time: Seconds | None
    text: str


_HEAD = ("makespan_us", "bubble", "throughput", "memory", "ranks", "notes", "findings")


class Run:
    """A simulated run. `print(run)` prints the report, a notebook draws the timeline."""

    def __init__(self, core: _core.Run) -> None:
        self._core = core

    @property
    def title(self) -> str:
        """"1f1b, 4 ranks, 8 microbatches"."""
        return self._core.title

    @property
    def finished(self) -> bool:
        """Whether the run ended. One that deadlocks has findings and nothing else."""
        return self._core.finished

    @property
    def step_time(self) -> Seconds:
        """From the start of the first action to the end of the last."""
        makespan = self._core.makespan_ps
        if makespan is None:
            raise self._unfinished()
        return Seconds(makespan)

    @property
    def bubble(self) -> Bubble:
        """Idle time of the ranks, in the three ways that papers define it."""
        bubble = self._part("bubble")
        return Bubble(bubble["of_makespan"], bubble["over_ideal"], bubble["of_longest_span"])

    @property
    def throughput(self) -> Throughput:
        """Samples, tokens and FLOPs per second."""
        return Throughput(**self._part("throughput"))

    @cached_property
    def memory(self) -> Memory:
        """Peaks of memory."""
        whole, ranks = self._part("memory"), self._part("ranks")
        peaks = [Bytes(rank["peak_memory_bytes"]) for rank in ranks]
        rank = peaks.index(max(peaks))
        kinds = ranks[rank]["memory_by_kind_bytes"]
        least, most = (Bytes(round(bound)) for bound in whole["peak_interval_bytes"])
        capacity = whole["capacity_bytes"]
        return Memory(
            peak=peaks[rank],
            rank=rank,
            by_kind={kind: Bytes(size) for kind, size in kinds.items()},
            capacity=None if capacity is None else Bytes(capacity),
            reserved=Bytes(whole["reserved_bytes"]),
            fits=whole["word"],
            interval=(least, most),
            ranks=peaks,
        )

    @property
    def ranks(self) -> list[dict[str, Any]]:
        """What `--json` says of each rank: busy and idle time, idle time by cause, memory."""
        ranks: list[dict[str, Any]] = self._part("ranks")
        return ranks

    @property
    def notes(self) -> list[str]:
        """Assumptions that the result rests on."""
        notes: list[str] = self._part("notes")
        return notes

    @property
    def findings(self) -> list[Finding]:
        """Problems: out of memory, a deadlock, an expectation that is not met."""
        return [
            Finding(
                kind=one["kind"],
                rank=one["rank"],
                time=None if one["time_us"] is None else Seconds(round(one["time_us"] * 1e6)),
                text=one["text"],
            )
            for one in self._head["findings"]
        ]

    @cached_property
    def timeline(self) -> Table:
        """When each action and transfer ran.

        Columns: rank (of a transfer: its sender's), kind (F, B, I, W, SEND_F …),
        stage, microbatch, start_ps, end_ps. Rows are in an order in which none
        waits for a later one.
        """
        if not self.finished:
            raise self._unfinished()
        return Table(self._core.timeline())

    def to_dict(self) -> dict[str, Any]:
        """The document of `penstock run --json`."""
        document: dict[str, Any] = json.loads(self._core.json())
        return document

    @checked
    def svg(
        self,
        *,
        width: float | None = None,
        height: float | None = None,
        title: str = "",
        theme: Literal["light", "dark"] = "light",
    ) -> str:
        """The timeline as SVG; lengths are in 1/96 inch."""
        if not self.finished:
            raise self._unfinished()
        lengths = number_if_given("width", width), number_if_given("height", height)
        return self._core.svg(*lengths, title, theme == "dark")

    @checked
    def report(self, *, all: bool = False, verbose: bool = False) -> str:
        """The report of `penstock run`; with `all` every rank, with `verbose` memory by kind."""
        return self._core.report(all, verbose)

    def _repr_svg_(self) -> str | None:
        return self.svg() if self.finished else None

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        return f"<penstock.Run: {self.title}, {self.step_time if self.finished else 'unfinished'}>"

    @cached_property
    def _head(self) -> dict[str, Any]:
        head: dict[str, Any] = json.loads(self._core.json(set(_HEAD)))
        return head

    def _part(self, key: str) -> Any:
        if not self.finished:
            raise self._unfinished()
        return self._head[key]

    def _unfinished(self) -> UnfinishedError:
        why = "; ".join(finding.text for finding in self.findings)
        return UnfinishedError(f"{self.title}: the run did not finish: {why}")


@checked
def run(
    scenario: Scenario,
    *,
    set: Settings | None = None,
    schedule: str | Order | Rule | None = None,
    engine: Literal["auto", "relax", "events"] = "auto",
    repeat: int = 0,
    tokens: float | None = None,
    price_per_device_hour: float | None = None,
    allow_stale: bool = False,
) -> Run:
    """Simulates a scenario, as `penstock run` does.

    >>> ps.run("experiments/scenarios/first_run.json", schedule="zb-h1")
    <penstock.Run: zb-h1, 4 ranks, 8 microbatches, 31.05 ms>

    `schedule` replaces the order of the scenario: by a name, an `Order`, or a rule
    of your own. How an order runs, such as its overlap and communication, is as the
    scenario states it; an `Order` and a rule place their stages themselves,
    whatever /partition/ranks says. With `repeat`, so many draws of chance are simulated, and
    `to_dict()["repeat"]` has the distribution of step times. With `tokens` of a
    whole training, `to_dict()["training"]` has its days and cost.

    The interpreter's lock is free while it simulates, and Ctrl-C works. Out of
    memory, a deadlock and expectations that are not met are `Run.findings`.
    Raises `ScenarioError` for a wrong scenario.
    """
    source = source_of(scenario, set)
    with tempfile.TemporaryDirectory() as folder:
        name = None
        if isinstance(schedule, str):
            source = _with_schedule(source, {"name": schedule})
        elif schedule is not None:
            order = _order_of(schedule, source)
            order._warn_of_losses()
            source, name = _with_order(source, order, Path(folder)), order.name
        return Run(
            _core.run(
                *source,
                name,
                engine,
                whole("repeat", repeat),
                number_if_given("tokens", tokens),
                number_if_given("price_per_device_hour", price_per_device_hour),
                allow_stale,
            )
        )


def _order_of(schedule: Order | Rule, source: Source) -> Order:
    if isinstance(schedule, Order):
        return schedule
    if isinstance(schedule, Rule):
        return schedule.order_for(source)
    what = f"schedule is a {type(schedule).__name__}"
    if callable(schedule):
        raise UsageError(f"{what}: penstock.rule makes a rule of it")
    raise UsageError(f"{what}: expected a name, an Order or a rule")


def _with_schedule(source: Source, order: dict[str, Any]) -> Source:
    """The scenario with another order, which runs as the one before."""
    return source[0], _core.with_order(*source, json.dumps(order)), []


def _with_order(source: Source, order: Order, folder: Path) -> Source:
    file = folder / "order.csv"
    file.write_text(order._core.csv())
    return _with_schedule(source, {"file": os.fspath(file), "chains": order.chains})
