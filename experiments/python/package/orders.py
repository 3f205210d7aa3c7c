"""Orders: which rank runs which action when."""

from __future__ import annotations

import inspect
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Union, overload

from . import _core
from ._inputs import Source, checked, list_of, settings_of, whole, whole_if_given
from .errors import UsageError

if TYPE_CHECKING:
    from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

Action = Union[str, "tuple[str, int, int]", "tuple[Action, Action]"]
"""An action of a rank: "2F5" or ("F", 2, 5), pass, stage and microbatch; a pair overlaps."""
Make = Callable[..., Iterable[Iterable[Action]]]
"""A function that gives the actions of each rank."""


class Order:
    """A checked order of the actions of each rank.

    Passes are F forward, B backward, or B in two: I for the gradient of the input
    and W for that of the weights. In a process of PyTorch:

        order = ps.schedule("zb-v", ranks=8, microbatches=32)
        stages = [PipelineStage(part(s), s, order.stages, device) for s in order.stages_of(rank)]
        runtime = order.to_torch(stages, loss_fn=loss)
    """

    def __init__(self, core: _core.Order) -> None:
        self._core = core

    @classmethod
    @checked
    def from_csv(
        cls, text: str, *, name: str = "order", chains: Sequence[Sequence[int]] = ()
    ) -> Order:
        """Reads an order in PyTorch's notation: a row is a rank, a cell an action.

        `chains` lists the stages of each copy of the model; by default there is one,
        or two for an order that is laid out in both directions. Raises
        `ScenarioError` with row and column for the first fault.
        """
        numbers = [
            [whole("chains", stage) for stage in list_of("chains", chain)]
            for chain in list_of("chains", chains)
        ]
        return cls(_core.order_of_csv(name, text, numbers))

    @classmethod
    @checked
    def from_rows(cls, rows: Iterable[Iterable[Action]], *, name: str = "order") -> Order:
        """Makes an order from the actions of each rank."""
        lines = (
            ",".join(
                _cell(action, f"row {number}, column {column}")
                for column, action in enumerate(list_of(f"row {number}", row))
            )
            + "\n"
            for number, row in enumerate(list_of("rows", rows))
        )
        return cls.from_csv("".join(lines), name=name)

    @property
    def name(self) -> str:
        """Name of its schedule."""
        return self._core.name

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self._core.ranks

    @property
    def stages(self) -> int:
        """Number of stages, over all copies of the model."""
        return self._core.stages

    @property
    def microbatches(self) -> int:
        """Number of microbatches of an iteration."""
        return self._core.microbatches

    @property
    def chains(self) -> list[list[int]]:
        """Stages of each copy of the model, from first to last."""
        return self._core.chains()

    @property
    def rows(self) -> list[list[str]]:
        """Cells of each rank, such as "2F5": stage, pass, microbatch; or "(2F5;1B0)OVERLAP_F_B"."""
        rows = self._core.text().split("\n")[:-1]
        return [row.split(",") if row else [] for row in rows]

    def stages_of(self, rank: int) -> list[int]:
        """The stages that a rank holds."""
        return self._core.stages_of(whole("rank", rank, self.ranks - 1))

    @checked
    def to_csv(self, *, comms: bool = False, fsdp: bool = False, torch: str | None = None) -> str:
        """The order in PyTorch's notation.

        With `comms` as a release lowers it, with sends, receives and reductions;
        with `fsdp` it also gathers and frees weights. `torch` is the release: 2.15 by
        default. Warns of an order that PyTorch cannot train, or that runs in another way
        without its rule; with `torch`, raises `UsageError` for one that this release
        cannot train.
        """
        release = "2.15" if torch is None else torch
        _core.check_torch(release)
        why = self._core.why_not_loadable() if torch is None else self._core.why_not_trained()
        if why:
            text = f"{self.name}: PyTorch {release} cannot train this order: {why}"
            if torch is not None:
                raise UsageError(text)
            warnings.warn(text, stacklevel=3)
        self._warn_of_losses()
        return self._core.comms(fsdp, release) if comms or fsdp else self._core.csv()

    @checked
    def to_torch(
        self, stages: Sequence[Any], *, loss_fn: Callable[..., Any] | None = None, **options: Any
    ) -> _PipelineScheduleRuntime:
        """PyTorch's runtime for this order, loaded: `runtime.step(…)` trains.

        `stages` are the `PipelineStage`s of this process: those of `stages_of(rank)`.
        Options go to `_PipelineScheduleRuntime`. Raises `UsageError` for an order
        that this PyTorch cannot train, and warns of one that it may train in another
        way; slices of a sequence are microbatches there.
        """
        own = list_of("stages", stages)
        for stage in own:
            if not hasattr(stage, "stage_index"):
                raise UsageError(f"stages has {stage!r}: expected stages of PyTorch, such as PipelineStage")
        from torch import __version__ as release
        from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

        own.sort(key=lambda stage: stage.stage_index)
        self._check_torch(str(release))
        self._check_stages(own)
        self._warn_of_losses()
        runtime = _PipelineScheduleRuntime(own, self._core.columns, loss_fn=loss_fn, **options)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "order.csv")
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(self._core.csv())
            with_comms = self._core.has_communication
            runtime._load_csv(path, **({"format": "compute_comms"} if with_comms else {}))
        return runtime

    def _check_torch(self, release: str) -> None:
        """Refuses what a release cannot train; warns the caller of `to_torch` of what it may not."""
        why, rejected = self._core.why_not_loadable(), self._core.why_rejected(release)
        if rejected:
            why = f"{rejected}; to_csv(comms=True, torch=…) lowers it anew"
        if why:
            raise UsageError(f"{self.name}: PyTorch {release} cannot train this order: {why}")
        doubt = self._core.doubt(release)
        if doubt:
            warnings.warn(f"{self.name}: {doubt}", stacklevel=4)

    def _check_stages(self, stages: list[Any]) -> None:
        """Refuses stages of another order, of another rank, or in another group."""
        if not stages:
            raise UsageError(f"{self.name}: stages is empty; a rank gives those of Order.stages_of")
        rank, size = stages[0].group_rank, stages[0].group_size
        if size != self.ranks:
            raise UsageError(f"{self.name}: it has {self.ranks} ranks, the group of the stages {size}")
        given, held = [stage.stage_index for stage in stages], self.stages_of(rank)
        if given != held:
            raise UsageError(f"{self.name}: rank {rank} holds the stages {held}, and {given} are given")
        of = stages[0].num_stages
        if of != self.stages:
            raise UsageError(f"{self.name}: it has {self.stages} stages, and PipelineStage has num_stages={of}")

    def _warn_of_losses(self) -> None:
        """For the caller of the checked function that calls this."""
        lost = self._core.lost()
        if lost:
            warnings.warn(f"{self.name}: {lost}", stacklevel=4)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Order) and (self.rows, self.chains) == (other.rows, other.chains)

    def __hash__(self) -> int:
        return hash(self._core.csv())

    def __str__(self) -> str:
        return self._core.csv().rstrip("\n")

    def __repr__(self) -> str:
        return (
            f"<penstock.Order: {self.name}, {self.ranks} ranks, {self.stages} stages, "
            f"{self.microbatches} microbatches>"
        )


@checked
def schedule(
    name: str, *, ranks: int, microbatches: int, chunks: int | None = None, **options: Any
) -> Order:
    """The order of a schedule by its name, as `penstock schedule` prints it.

    >>> print(ps.schedule("zb-h1", ranks=2, microbatches=2))
    0F0,0F1,0I0,0W0,0I1,0W1
    1F0,1I0,1F1,1I1,1W0,1W1

    `chunks` is the number of stages per rank, where the rule leaves a choice.
    Further options are those of the rule, such as `group=4`. Raises `UsageError`
    for an unknown name, and for sizes that the rule does not support.
    """
    count = whole("ranks", ranks)
    core = _core.schedule(
        name,
        count,
        whole("microbatches", microbatches),
        whole_if_given("chunks", chunks, _core.bounds("chunks")[1] // count),
        settings_of(options, "options"),
    )
    return Order(core)


class Rule:
    """A schedule rule that a Python function states; see `rule`."""

    def __init__(self, make: Make, *, chunks: int | None = None) -> None:
        self.name: str = getattr(make, "__name__", "rule")
        self.__doc__ = make.__doc__
        self._make = make
        self._chunks = whole_if_given("chunks", chunks)
        names = inspect.signature(make).parameters
        self._takes = [name for name in ("ranks", "microbatches", "chunks") if name in names]
        if not {"ranks", "microbatches"} <= set(self._takes):
            raise UsageError(f"{self.name}: a rule takes ranks and microbatches, and may take chunks")

    def __call__(self, *, ranks: int, microbatches: int, chunks: int | None = None) -> Order:
        """The order for these sizes, checked. Raises `ScenarioError` for the first fault."""
        sizes = {
            "ranks": whole("ranks", ranks),
            "microbatches": whole("microbatches", microbatches),
            "chunks": whole_if_given("chunks", chunks) or self._chunks or 1,
        }
        rows = self._make(**{name: sizes[name] for name in self._takes})
        return Order.from_rows(rows, name=self.name)

    def order_for(self, source: Source) -> Order:
        """The order for the sizes that a scenario states."""
        ranks, chunks, microbatches = _core.sizes(*source, self._chunks)
        return self(ranks=ranks, microbatches=microbatches, chunks=chunks)

    def __repr__(self) -> str:
        return f"<penstock.Rule: {self.name}>"


@overload
def rule(make: Make) -> Rule: ...
@overload
def rule(*, chunks: int | None = None) -> Callable[[Make], Rule]: ...
@checked
def rule(make: Make | None = None, *, chunks: int | None = None) -> Rule | Callable[[Make], Rule]:
    """Makes a schedule of a function that returns the actions of each rank.

    >>> @ps.rule
    ... def gpipe(ranks, microbatches):
    ...     for r in range(ranks):
    ...         forwards = [("F", r, m) for m in range(microbatches)]
    ...         yield forwards + [("B", r, m) for m in range(microbatches)]
    >>> ps.run("experiments/scenarios/first_run.json", schedule=gpipe)
    <penstock.Run: gpipe, 4 ranks, 8 microbatches, 35.03 ms>

    The function may also take `chunks`, the number of stages per rank: as given
    here, else as the scenario states. A stage belongs to the rank whose row names
    it. The order is checked like one from a file: complete, consistent; one that
    deadlocks is a finding of its run.
    """
    chunks = whole_if_given("chunks", chunks)
    if make is None:
        return lambda function: Rule(function, chunks=chunks)
    return Rule(make, chunks=chunks)


def _cell(action: Action, place: str) -> str:
    if isinstance(action, str):
        if not set(action) & set(',"\r\n'):
            return action
    elif isinstance(action, Sequence) and len(action) == 2:
        return f"({_cell(action[0], place)};{_cell(action[1], place)})OVERLAP_F_B"
    elif isinstance(action, Sequence) and len(action) == 3:
        return _cell(f"{action[1]}{action[0]}{action[2]}", place)
    raise UsageError(f'{place}: {action!r} is no action; expected "2F5", ("F", 2, 5), or a pair of these')
