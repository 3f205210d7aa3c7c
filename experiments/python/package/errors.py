"""What can go wrong."""

from __future__ import annotations


class Error(Exception):
    """Base class of the errors of this package."""


class ScenarioError(Error, ValueError):
    """An input is wrong: a scenario, or a file that it names.

    >>> try:
    ...     ps.run("experiments/scenarios/first_run.json", set={"/schedule/name": "zb"})
    ... except ps.ScenarioError as error:
    ...     print(error.pointer, error.message[:17])
    /schedule/name unknown name "zb"

    Its text is that of the program: `FILE: /pointer: what is wrong; what would
    be right`.
    """

    file: str
    """The file, or "scenario" for a mapping; empty if it is not known."""
    pointer: str
    """The JSON pointer in it, or row and column of an order; may be empty."""
    message: str
    """What is wrong, and what would be right."""

    def __init__(self, text: str, file: str = "", pointer: str = "", message: str = "") -> None:
        super().__init__(text)
        self.file = file
        self.pointer = pointer
        self.message = message or text

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[str, str, str, str]]:
        return type(self), (str(self), self.file, self.pointer, self.message)


class UsageError(Error, ValueError):
    """An argument is wrong: an unknown name, a size that a schedule does not support."""


class UnfinishedError(Error):
    """A run that cannot finish, such as one that deadlocks, has no such result.

    `Run.finished` tells them apart, `Run.findings` says why.
    """
