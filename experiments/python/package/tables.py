"""Tables whose columns others read without a copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._core import Column
from ._core import Table as _Table

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["Column", "Table"]


class Table:
    """Columns of equal length.

    >>> timeline = ps.run("experiments/scenarios/first_run.json").timeline
    >>> timeline.columns
    ['rank', 'kind', 'stage', 'microbatch', 'start_ps', 'end_ps']
    >>> [timeline[name][0] for name in timeline]
    [0, 'F', 0, 0, 0, 1000000000]
    >>> memoryview(timeline["end_ps"])[:2].tolist()
    [1000000000, 1337544320]

    Anything that takes the Arrow C stream interface reads it: `pyarrow.table(t)`,
    `polars.DataFrame(t)`, DuckDB. Nothing is copied; the columns keep
    alive what they belong to.
    """

    def __init__(self, table: _Table) -> None:
        self._table = table
        self._columns = {column.name: column for column in table.columns}

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    def __getitem__(self, name: str) -> Column:
        """A column. `numpy.asarray(table["end_ps"])` reads it without a copy."""
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._table)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table by the Arrow C stream interface, in one batch."""
        return self._table.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        """The table as a `pyarrow.Table`, without a copy; needs pyarrow 14 or later."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a `pandas.DataFrame`; needs pandas."""
        import numpy
        import pandas

        def values(column: Column) -> Any:
            if column.categories:
                return pandas.Categorical.from_codes(numpy.asarray(column), column.categories)
            try:
                return numpy.asarray(memoryview(column))
            except BufferError:
                return column.tolist()

        frame = {name: values(column) for name, column in self._columns.items()}
        return pandas.DataFrame(frame, copy=False)

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists by name."""
        return {name: column.tolist() for name, column in self._columns.items()}

    def __repr__(self) -> str:
        return f"<penstock.Table of {len(self)} rows: {', '.join(self._columns)}>"
