"""Arguments of several functions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Union

from . import _core
from .errors import UsageError
from .units import Bytes

Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Settings = Mapping[str, Any]
Source = tuple[str, "str | None", "list[str]"]


for _prefix in Path(__file__).absolute().parents:  # one of them has share/penstock, if installed
    if (_prefix / "share" / "penstock").is_dir():
        os.environ.setdefault("PENSTOCK_DATA", str(_prefix / "share" / "penstock"))


def set_max_memory(bytes: float | None = None) -> Bytes:
    """Sets how many bytes of memory a call may need. One that needs more raises `MemoryError`
    before it allocates them. None, as on import: 80 % of the memory that is free now. Returns the
    limit.

    >>> print(set_max_memory(2e9))
    1.863 GiB
    """
    if bytes is not None and not 0 < bytes <= 1e18:
        raise UsageError(f"max_memory is {bytes}: expected a number of bytes above 0")
    return Bytes(_core.set_max_memory(bytes))


set_max_memory()


def path_of(file: str | os.PathLike[str]) -> str:
    """The path of an input: of a file, or of one that comes with Penstock."""
    return _core.input_path(os.fspath(file))


def source_of(scenario: Scenario, settings: Settings | None) -> Source:
    """A scenario as the C++ side takes it: its name, its text if it is no file, its settings."""
    if isinstance(scenario, Mapping):
        return "scenario", value_text(scenario), settings_of(settings)
    return path_of(scenario), None, settings_of(settings)


def settings_of(settings: Settings | None) -> list[str]:
    return [f"{pointer}={value_text(value)}" for pointer, value in (settings or {}).items()]


def value_text(value: Any) -> str:
    """A value as JSON: a path as its text, what has `tolist` or `item`, such as arrays and numbers
    of numpy, as a list or number."""
    try:
        return json.dumps(value, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{str(value)[:60]}: {error}") from None


def _plain(other: Any) -> Any:
    if isinstance(other, os.PathLike):
        return os.fspath(other)
    if isinstance(other, Mapping):
        return dict(other)
    for name in ("tolist", "item"):
        if hasattr(other, name):
            return getattr(other, name)()
    raise TypeError(f"expected numbers, texts, lists, mappings or paths, got {type(other).__name__}")


def values_text(pointer: str, values: Iterable[Any]) -> str:
    """As the program takes an axis: "/pointer=8,16", or "/pointer=8..64:8" for a range."""
    if isinstance(values, range) and len(values) > 1 and values.step > 0:
        return f"{pointer}={values[0]}..{values[-1]}:{values.step}"
    return f"{pointer}={','.join(value_text(value) for value in values)}"
