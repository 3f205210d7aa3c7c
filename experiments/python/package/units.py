"""Numbers that print with their unit."""

from __future__ import annotations

import operator


class Seconds(float):
    """A time: a float in seconds that is exact in picoseconds.

    >>> Seconds(31_050_000_000)
    Seconds(0.03105)
    >>> print(Seconds(31_050_000_000))
    31.05 ms
    """

    __slots__ = ("ps",)

    ps: int
    """Picoseconds, exact."""

    def __new__(cls, ps: int) -> Seconds:
        whole = operator.index(ps)
        value = super().__new__(cls, whole / 1e12)
        value.ps = whole
        return value

    @property
    def us(self) -> float:
        """Microseconds, as in `penstock run --json`."""
        return self.ps / 1e6

    @property
    def ms(self) -> float:
        """Milliseconds."""
        return self.ps / 1e9

    def __str__(self) -> str:
        for unit, picoseconds in (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3)):
            if abs(self.ps) >= picoseconds:
                return f"{self.ps / picoseconds:.4g} {unit}"
        return f"{self.ps} ps"

    def __repr__(self) -> str:
        return f"Seconds({float.__repr__(self)})"

    def __getnewargs__(self) -> tuple[int]:
        return (self.ps,)


class Bytes(int):
    """A size in memory: an int.

    >>> print(Bytes(68_719_476_736))
    64 GiB
    """

    @property
    def gib(self) -> float:
        """In units of 2**30 bytes."""
        return self / 2**30

    def __str__(self) -> str:
        for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
            if abs(self) >= size:
                return f"{self / size:.4g} {unit}"
        return f"{int(self)} B"

    def __repr__(self) -> str:
        return f"Bytes({int(self)})"
