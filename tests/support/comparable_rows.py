"""Rows of two databases in which the same happened, such that they are equal.

Tallies are written by stripe, which is the number of a connection, and wander to the row of all time when their minute
is over; of commits it is measured how long they took. What is the same whoever wrote it and however fast is what they
sum up to.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ramet.model.tallies import COLUMNS
from ramet.store.rows.tallies import ALL_TIME, FOLDED

Row = tuple[Any, ...]


class Rows(NamedTuple):
    """Of one table: names of columns, and rows in that order."""

    columns: Sequence[str]
    rows: list[Row]


def comparable(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Rows:
    """The rows in an order of their own; those of a table that depends on connections or on speed summed up."""
    summed = _SUMS.get(table)
    if summed is not None:
        return summed([dict(zip(columns, row, strict=True)) for row in rows])
    return Rows(columns, sorted(map(tuple, rows), key=repr))


def _over_stripes(names: Sequence[str], numbers: Sequence[str]) -> Callable[[list[dict[str, Any]]], Rows]:
    """Each span of time, and all time: the folded row, and what is in no folded row yet."""

    def sums(rows: Sequence[Mapping[str, Any]]) -> Rows:
        found: dict[Row, list[int]] = defaultdict(lambda: [0] * len(numbers))
        for row in rows:
            spans = [(row["seconds"], row["at"])] if row["seconds"] != ALL_TIME else []
            if row["stripe"] != FOLDED or row["seconds"] == ALL_TIME:
                spans.append((ALL_TIME, 0))
            for span in spans:
                key = (*span, *(row[name] for name in names))
                found[key] = [sum(pair) for pair in zip(found[key], (row[name] for name in numbers), strict=True)]
        return Rows(("seconds", "at", *names, *numbers), [(*key, *found[key]) for key in sorted(found)])

    return sums


def _commits(rows: Sequence[Mapping[str, Any]]) -> Rows:
    commits: Counter[str] = Counter()
    for row in rows:
        commits[row["verb"]] += row["commits"]
    return Rows(("verb", "commits"), sorted(commits.items()))


_SUMS = {
    "ramet_tallies": _over_stripes(("kind",), COLUMNS),
    "ramet_tally_reasons": _over_stripes(("what", "kind", "reason"), ("count",)),
    "ramet_commit_times": _commits,
}
