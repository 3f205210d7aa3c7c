"""Arguments of several functions."""

from __future__ import annotations

import functools
import inspect
import json
import math
import numbers
import operator
import os
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

from . import _core
from .errors import UsageError
from .units import Bytes

Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Settings = Mapping[str, Any]
Source = tuple[str, "str | None", "list[str]"]


for _prefix in Path(__file__).absolute().parents:  # one of them has share/penstock, if installed
    if (_prefix / "share" / "penstock").is_dir():
        os.environ.setdefault("PENSTOCK_DATA", str(_prefix / "share" / "penstock"))


Function = TypeVar("Function", bound=Callable[..., Any])


def checked(function: Function) -> Function:
    """A function that refuses texts, flags, names and functions of another type than annotated.

    Of numbers, lists, mappings and paths, the functions below make what the C++ side takes.
    """
    signature = inspect.signature(function)
    kinds = {
        name: eval(one.annotation, function.__globals__)
        for name, one in signature.parameters.items()
        if one.annotation is not one.empty and one.kind is not one.VAR_KEYWORD
    }

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:  # the call below says what is missing or unknown
            given = {}
        for name, value in given.items():
            if name in kinds and not _is_a(value, kinds[name]):
                raise UsageError(f"{name} is {value!r}: expected {_kind_text(kinds[name])}")
            if isinstance(value, str):
                encodable(name, value)
        return function(*args, **kwargs)

    return cast(Function, call)


def encodable(name: str, text: str) -> str:
    """A text that the C++ side takes."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{name} is {text!r}: UTF-8 has no {text[error.start]!r}") from None
    return text


def _is_a(value: Any, kind: Any) -> bool:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return any(_is_a(value, part) for part in get_args(kind))
    if origin is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if origin is Callable:
        return callable(value)
    return isinstance(value, kind) if kind in (str, bool, types.NoneType) else True


def _kind_text(kind: Any) -> str:
    origin = get_origin(kind)
    names = [str(part) for part in get_args(kind)]
    if origin in (Union, types.UnionType):
        names = [_kind_text(part) for part in get_args(kind)]
    elif origin is Callable:
        return "a function"
    elif origin is not Literal:
        return {str: "a text", bool: "True or False"}.get(kind, "None")
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


@checked
def set_max_memory(bytes: float | None = None) -> Bytes:
    """Sets how many bytes of memory a call may need. One that needs more raises `MemoryError`
    before it allocates them. None, as on import: 80 % of the memory that is free now. Returns the
    limit.

    >>> print(set_max_memory(2e9))
    1.863 GiB
    """
    given = number_if_given("bytes", bytes)
    if given is not None and not 0 < given <= 1e18:
        raise UsageError(f"bytes is {bytes}: expected a number above 0 and at most 1e18")
    return Bytes(_core.set_max_memory(given))


def path_of(file: str | os.PathLike[str]) -> str:
    """The path of an input: of a file, or of one that comes with Penstock."""
    return _core.input_path(path_text(file))


def path_text(file: str | os.PathLike[str]) -> str:
    try:
        return encodable("path", os.fsdecode(file))
    except TypeError:
        raise UsageError(f"expected a path, got {type(file).__name__}") from None


def source_of(scenario: Scenario, settings: Settings | None) -> Source:
    """A scenario as the C++ side takes it: its name, its text if it is no file, its settings."""
    if isinstance(scenario, Mapping):
        return "scenario", value_text(scenario, "scenario"), settings_of(settings)
    return path_of(scenario), None, settings_of(settings)


def mapping_of(name: str, values: Mapping[Any, Any] | None) -> Mapping[Any, Any]:
    """An argument that maps pointers to values."""
    if values is None or isinstance(values, Mapping):
        for key in values or {}:
            encodable(f"a key of {name}", str(key))
        return values or {}
    raise UsageError(f"{name}: expected a mapping of pointers to values, got {type(values).__name__}")


def settings_of(settings: Settings | None, name: str = "set") -> list[str]:
    return [
        f"{pointer}={value_text(value, f'{name}: {pointer}')}"
        for pointer, value in mapping_of(name, settings).items()
    ]


def list_of(name: str, values: Iterable[Any]) -> list[Any]:
    """An argument that is a list, or anything else with items; a text is one item."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise UsageError(f"{name} is {values!r}: a list is expected")
    return list(values)


def texts_of(name: str, values: Iterable[Any]) -> list[str]:
    """An argument that is a list of texts."""
    texts = list_of(name, values)
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(f"{name} has {text!r}: a list of texts is expected")
        encodable(f"a text of {name}", text)
    return texts


def whole(name: str, value: Any, most: int | None = None) -> int:
    """An argument that is a whole number, within its bounds; `most` where others bound it, too."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise UsageError(f"{name} is {value!r}: expected a whole number") from None
    least, usual = _core.bounds(name)
    most = usual if most is None else most
    if not least <= number <= most:
        raise UsageError(f"{name} is {number}: it must be from {least} to {most}")
    return number


def whole_if_given(name: str, value: Any, most: int | None = None) -> int | None:
    return None if value is None else whole(name, value, most)


def number(name: str, value: Any) -> float:
    """An argument that is a number."""
    try:
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if real and math.isfinite(value):
            return float(value)
    except OverflowError:  # a whole number above all floats
        pass
    raise UsageError(f"{name} is {value!r}: expected a finite number")


def number_if_given(name: str, value: Any) -> float | None:
    return None if value is None else number(name, value)


def value_text(value: Any, place: str) -> str:
    """A value as JSON: a path as its text, what has `tolist` or `item`, such as arrays and numbers
    of numpy, as a list or number. Errors name the place within the value, as a JSON pointer."""
    try:
        return json.dumps(value, allow_nan=False, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        try:
            pointer, why = _first_wrong(value) or ("", str(error))
        except RecursionError:
            pointer, why = "", "it contains itself, or is nested too deep"
        raise UsageError(f"{place}: {pointer}{': ' if pointer else ''}{why}") from None


def _first_wrong(value: Any) -> tuple[str, str] | None:
    """The first part of a value that JSON does not have, and why."""
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    for key, part in parts:
        try:
            json.dumps({key: part}, allow_nan=False, default=_plain)
        except (TypeError, ValueError) as error:
            pointer, why = _first_wrong(part) or ("", str(error))
            step = str(key).replace("~", "~0").replace("/", "~1")
            return f"/{step}{pointer}", why
    if isinstance(value, float):
        return "", f"{value} is not finite"
    return None


def _plain(other: Any) -> Any:
    if isinstance(other, os.PathLike):
        return os.fspath(other)
    if isinstance(other, Mapping):
        return dict(other)
    for name in ("tolist", "item"):
        if hasattr(other, name):
            return getattr(other, name)()
    raise TypeError(f"expected numbers, texts, lists, mappings or paths, got {type(other).__name__}")


def values_text(name: str, pointer: str, values: Iterable[Any]) -> str:
    """As the program takes an axis: "/pointer=8,16", or "/pointer=8..64:8" for a range."""
    if isinstance(values, range) and len(values) > 1 and values.step > 0:
        return f"{pointer}={values[0]}..{values[-1]}:{values.step}"
    place = f"{name}: {pointer}"
    return f"{pointer}={','.join(value_text(value, place) for value in list_of(place, values))}"


set_max_memory()
