"""Many runs."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from . import _core
from ._inputs import (
    Scenario,
    Settings,
    checked,
    list_of,
    mapping_of,
    source_of,
    texts_of,
    value_text,
    values_text,
    whole,
    whole_if_given,
)
from .errors import UsageError
from .tables import Column, Table

if TYPE_CHECKING:
    import pandas
    import pyarrow

Axes = Mapping["str | tuple[str, ...]", Iterable[Any]]


class Sweep:
    """The results of a sweep, one row per configuration, the last axis varying first."""

    def __init__(self, core: _core.SweepRows) -> None:
        self._core = core

    @property
    def with_result(self) -> int:
        """Rows that have a result. The others have findings, and no step time."""
        return self._core.with_result

    @cached_property
    def table(self) -> Table:
        """The rows as columns.

        Those of the configuration are named by their pointers, those of the result
        as in `penstock run --json`: `makespan_us`, `bubble.of_makespan`.
        """
        return Table(self._core.table())

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as `penstock sweep` writes them."""
        return [json.loads(line) for line in self._core.text.splitlines()]

    def to_jsonl(self) -> str:
        """The file that `penstock sweep -o` writes for the same axes, byte for byte."""
        return self._core.text

    def to_arrow(self) -> pyarrow.Table:
        """The rows as a `pyarrow.Table`, without a copy; needs pyarrow 14 or later."""
        return self.table.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a `pandas.DataFrame`; needs pandas."""
        return self.table.to_pandas()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table by the Arrow C stream interface, in one batch."""
        return self.table.__arrow_c_stream__(requested_schema)

    def __getitem__(self, name: str) -> Column:
        """A column of the table."""
        return self.table[name]

    def __len__(self) -> int:
        return self._core.count

    def __repr__(self) -> str:
        without = len(self) - self.with_result
        why = f", the first because {self._core.reason}" if without else ""
        return f"<penstock.Sweep of {len(self)} rows, {without} without a result{why}>"


@checked
def sweep(
    base: Scenario,
    vary: Axes | None = None,
    *,
    set: Settings | None = None,
    where: Sequence[str] = (),
    results: Sequence[str] = (),
    sample: int | None = None,
    method: Literal["sobol", "random"] = "sobol",
    seed: int = 1,
    jobs: int | None = None,
) -> Sweep:
    """Simulates many configurations of a scenario on all cores, as `penstock sweep` does.

    >>> sweep = ps.sweep(
    ...     "experiments/scenarios/first_run.json",
    ...     vary={"/schedule/name": ["1f1b", "zb-h1"], "/schedule/microbatches": range(8, 25, 8)},
    ... )
    >>> [round(us / 1e3, 2) for us in sweep["makespan_us"].tolist()]
    [38.4, 66.45, 94.5, 31.05, 55.05, 79.05]

    `vary` has the values of each pointer; a tuple of pointers takes tuples of
    values together. All combinations run, or `sample` points drawn from them.
    `where` has conditions on pointers that vary, such as
    "/schedule/microbatches>=2*/parallel/pipeline" where both do; `results` further
    values of each run, as pointers into `penstock run --json`, with a warning of
    those that no row has.
    `base` may also be a sweep file. `jobs` is the number of threads; default: one
    per core.

    A configuration that cannot run is a row with its reason. Raises `UsageError`
    for a pointer that no scenario has.
    """
    axes = [_axis(pointers, values) for pointers, values in mapping_of("vary", vary).items()]
    source, text, settings = source_of(base, set)
    rows = _core.sweep(
        source,
        text,
        settings,
        axes,
        texts_of("where", where),
        texts_of("results", results),
        whole_if_given("sample", sample),
        method,
        whole("seed", seed),
        whole_if_given("jobs", jobs),
    )
    if rows.missing:
        warnings.warn(rows.missing, stacklevel=3)
    return Sweep(rows)


def _axis(pointers: str | tuple[str, ...], values: Iterable[Any]) -> str:
    if isinstance(pointers, str):
        return values_text("vary", pointers, values)
    place = f"vary {pointers}"
    rows = [list_of(place, row) for row in list_of(place, values)]
    for row in rows:
        if len(row) != len(pointers):
            raise UsageError(f"{place}: {value_text(row, place)} has {len(row)} values")
    columns = [[row[i] for row in rows] for i in range(len(pointers))]
    return "&".join(values_text("vary", *one) for one in zip(pointers, columns))
