"""Charts as numbers: where each bar of an SVG stands. Templates draw them; colours are the style sheet's."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

WIDTH, HEIGHT = 720.0, 150.0
"""Of the plot, in units of the drawing."""


class Bar(NamedTuple):
    """One bar of a chart: two parts on top of each other, and what it stands for."""

    x: float
    width: float
    good_y: float
    good_height: float
    bad_y: float
    bad_height: float
    label: str | float
    """A word, or a moment."""
    good: int
    bad: int


class Chart(NamedTuple):
    """A chart of bars. ``most`` is what the full height stands for."""

    bars: tuple[Bar, ...]
    most: int
    total: int


def stacked(values: Sequence[tuple[str | float, int, int]]) -> Chart:
    """Bars of good and bad ones, side by side over the whole width."""
    most = _rounded(max((good + bad for _, good, bad in values), default=0))
    step = WIDTH / max(1, len(values))
    made = []
    for at, (label, good, bad) in enumerate(values):
        low = _height(bad, most)
        high = min(_height(good, most), HEIGHT - low)  # What is raised to be seen takes from the rest.
        bar = Bar(at * step + step * 0.1, step * 0.8, HEIGHT - high, high, HEIGHT - high - low, low, label, good, bad)
        made.append(bar._replace(x=round(bar.x, 2), width=round(bar.width, 2)))
    return Chart(tuple(made), most, sum(good + bad for _, good, bad in values))


def bars(values: Sequence[tuple[str | float, int]]) -> Chart:
    """Bars of one sort."""
    return stacked([(label, count, 0) for label, count in values])


def _height(count: int, most: int) -> float:
    # What there is can be seen, however little it is beside the rest.
    return round(max(HEIGHT * count / most, 1.5), 2) if count else 0.0


def _rounded(most: int) -> int:
    """The next number of one digit and zeros, so that the axis has a plain end."""
    if most <= 10:
        return max(most, 1)
    size = int(f"1{'0' * (len(str(most)) - 1)}")
    return ceil(most / size) * size
