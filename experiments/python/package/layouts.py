"""The best layouts of a training."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from typing import Any, Literal, overload

from . import _core
from ._inputs import (
    Settings,
    checked,
    mapping_of,
    number,
    path_of,
    path_text,
    settings_of,
    texts_of,
    values_text,
    whole,
    whole_if_given,
)
from .errors import UsageError
from .runs import Run, run
from .units import Seconds


_FORMATS = {
    "megatron": "megatron-args",
    "torchtitan": "torchtitan-args",
    "deepspeed": "deepspeed-config",
}


class Layout:
    """One way to lay out a training: degrees, batch, schedule, memory options."""

    def __init__(self, core: _core.Layouts, number: int) -> None:
        self._core = core
        self._number = number

    @property
    def title(self) -> str:
        """"tensor 2, pipeline 4, data 8, 1f1b, 64 microbatches of 1, ZeRO-1"."""
        return self._core.title(self._number)

    @property
    def step_time(self) -> Seconds:
        """Of an iteration, simulated."""
        return Seconds(self._core.makespan_ps(self._number))

    @property
    def scenario(self) -> dict[str, Any]:
        """Its scenario, for `penstock.run`; paths are relative to the working folder."""
        document: dict[str, Any] = json.loads(self._core.scenario(self._number))
        return document

    def run(self, **options: Any) -> Run:
        """Simulates it; options are those of `penstock.run`."""
        return run(self.scenario, **options)

    @checked
    def launch(
        self,
        framework: Literal["megatron", "torchtitan", "deepspeed"],
        *,
        name: str = "layout",
    ) -> dict[str, str]:
        """The files that start it with a framework, by name.

        Warns of a layout that the framework does not run, which the files then come
        near to: `penstock.layout(…, framework=…)` finds those that it runs. Warns of
        settings that a file cannot state.
        """
        why = self._core.why_not_in(self._number, framework)
        if why:
            warnings.warn(f"{framework} does not run this layout: {why}", stacklevel=3)
        files = self._core.launch(self._number, _FORMATS[framework], name)
        for suffix, (_, left_out) in files.items():
            if left_out:
                warnings.warn(f"not in {name}{suffix}: {'; '.join(left_out)}", stacklevel=3)
        return {name + suffix: text for suffix, (text, _) in files.items()}

    def to_megatron(self) -> str:
        """The command that starts it with Megatron-LM; `launch` has the recipe of Megatron-Bridge."""
        files = self.launch("megatron")
        if "layout.sh" not in files:
            raise UsageError("no script says all of this model; launch(\"megatron\") has the recipe")
        return files["layout.sh"]

    def to_torchtitan(self) -> str:
        """The command that starts it with torchtitan; `launch` also has the order, if it needs one."""
        return self.launch("torchtitan")["layout.sh"]

    def to_deepspeed(self) -> dict[str, Any]:
        """The configuration of DeepSpeed."""
        document: dict[str, Any] = json.loads(self.launch("deepspeed")["layout.deepspeed.json"])
        return document

    def __repr__(self) -> str:
        return f"<penstock.Layout: {self.title}, {self.step_time}>"


class Layouts(Sequence[Layout]):
    """The best layouts of each family, fastest first; `print` prints the report.

    If none fits with the headroom, those that may fit; empty if none does.
    """

    def __init__(self, core: _core.Layouts) -> None:
        self._core = core

    @overload
    def __getitem__(self, index: int) -> Layout: ...
    @overload
    def __getitem__(self, index: slice) -> list[Layout]: ...
    def __getitem__(self, index: int | slice) -> Layout | list[Layout]:
        if isinstance(index, slice):
            return [Layout(self._core, i) for i in range(*index.indices(len(self)))]
        return Layout(self._core, range(len(self))[index])

    def __len__(self) -> int:
        return len(self._core)

    def to_dict(self) -> dict[str, Any]:
        """The document of `penstock layout --json`."""
        document: dict[str, Any] = json.loads(self._core.json())
        return document

    def __str__(self) -> str:
        return self._core.report()

    def __repr__(self) -> str:
        return f"<penstock.Layouts: {len(self)}>"


@checked
def layout(
    model: str | os.PathLike[str],
    *,
    hardware: str | os.PathLike[str],
    devices: int,
    framework: Literal["any", "megatron", "torchtitan", "deepspeed"] = "any",
    sequence: int | None = None,
    microbatch: int | None = None,
    global_batch: int | None = None,
    set: Settings | None = None,
    only: Settings | None = None,
    partitions: Sequence[str] = (),
    lossy: bool = False,
    offload: bool = False,
    best: int = 10,
    headroom: float = 0.08,
    budget_s: float = 30,
    jobs: int | None = None,
) -> Layouts:
    """Finds the best layouts of a model on a machine by simulation, as `penstock layout` does.

    >>> best = ps.layout(
    ...     "experiments/models/llama-3.1-8b.json",
    ...     hardware="dgx-h100",
    ...     devices=8,
    ...     framework="megatron",
    ...     only={"/parallel/pipeline": 2, "/schedule/name": "1f1b"},
    ... )[0]
    >>> best
    <penstock.Layout: tensor ..., pipeline 2, ...>
    >>> best.to_megatron().splitlines()[4]
    'torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py \\\\'

    `model` is a file that a scenario reads, such as a `config.json`; `hardware` a
    machine of the catalogue or its file. With `framework`, only layouts that it
    runs. `only` restricts axes to a value or a list of them:
    `{"/parallel/pipeline": [4, 8]}`. `headroom` is the share of memory to leave
    free, `budget_s` about how many seconds each core searches.
    """
    restrictions = [
        values_text("only", pointer, values if isinstance(values, (list, tuple, range)) else [values])
        for pointer, values in mapping_of("only", only).items()
    ]
    return Layouts(
        _core.layout(
            path_of(model),
            path_text(hardware),
            whole("devices", devices),
            framework,
            whole_if_given("sequence", sequence),
            whole_if_given("microbatch", microbatch),
            whole_if_given("global_batch", global_batch),
            settings_of(set),
            restrictions,
            texts_of("partitions", partitions),
            lossy,
            offload,
            whole("best", best),
            number("headroom", headroom),
            number("budget_s", budget_s),
            whole_if_given("jobs", jobs),
        )
    )
