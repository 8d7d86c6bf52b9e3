"""Readings of the sampled postings, compared with labels that were written before any of them was read.

How the labels of the first four samples were written (``labels.json``, one line an item, facts only; README.md has the
rules of the later ones, in more detail):

* seniority: the word of the title, then of the text; without one the years and the duties decide (at most 1 is junior,
  8 or more senior, else mid). Managers of people, directors and heads lead; managers of accounts or programs do not.
* arrangement: what the posting says. A place to choose ("remote or hybrid") is remote; a board that lists remote work
  only is remote unless the text says otherwise; one city or site and not a word on it is onsite.
* salary: as written, with its currency and period; of several by place, from the lowest to the highest. Null: none.
* years: the least number of years that is asked for; of several demands the highest, of alternatives by degree the
  first. What is only preferred does not count. Null: none.
* technologies: languages, programs and services that the work has to do with, by the product's names, and by their own
  where it knows none. Not: what the employer sells or its customers use, its programs in house, office programs, the
  words of a field of work (CI/CD, ETL, LLM), and what other openings of the text ask for.
* country: ISO 3166 code of the main place; ``countries`` where there are several. Null: none is named.
* also: other values that a second careful person could give. The figures do not accept them; the share that would be
  right with them is printed beside.

Right is: the same value; for pay the same currency and both ends of a year's pay within one unit; technologies by
canonical names, counted over all items (micro).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ramet.jobs.text.posting_text import Reading
from ramet.jobs.text.technologies import canonical_technology
from tests.jobs.sampled.pools import FIRST, Item, Sample

FOLDER = Path(__file__).parent
IN_A_YEAR = {"hour": 2_080, "day": 260, "week": 52, "month": 12, "year": 1}

FIELDS = (
    "seniority", "arrangement", "country", "countries",
    "salary present", "no salary invented", "years present", "no years invented",
)  # fmt: skip

Label = dict[str, Any]
Pay = tuple[float | None, float | None, str]


@dataclass
class Share:
    """How many values are right, and how many would be if a second person's counted too."""

    right: int = 0
    accepted: int = 0
    all: int = 0

    def add(self, is_right: bool, is_accepted: bool) -> None:
        """Count a value."""
        self.all += 1
        self.right += is_right
        self.accepted += is_right or is_accepted

    def __str__(self) -> str:
        if not self.all:
            return "0/0"
        return f"{self.right}/{self.all} = {self.right / self.all:.1%} ({self.accepted / self.all:.1%})"


@dataclass
class Technologies:
    """Names that are right, found too much and missed."""

    right: int = 0
    extra: int = 0
    missed: int = 0

    def __str__(self) -> str:
        precision = self.right / (self.right + self.extra or 1)
        recall = self.right / (self.right + self.missed or 1)
        counts = f"{self.right} right, {self.extra} extra, {self.missed} missed"
        return f"precision {precision:.3f}, recall {recall:.3f} ({counts})"


@dataclass
class Evaluation:
    """Figures by field, and the misses of each item."""

    shares: dict[str, Share] = field(default_factory=lambda: {name: Share() for name in FIELDS})
    technologies: Technologies = field(default_factory=Technologies)
    accepted: Technologies = field(default_factory=Technologies)
    misses: list[tuple[str, list[str]]] = field(default_factory=list)
    """Item and its misses, in the order of the draw; empty where all is right."""

    def lines(self) -> list[str]:
        """The figures, one field a line; in brackets with a second person's values."""
        shares = [f"{name}: {share}" for name, share in self.shares.items()]
        return [*shares, f"technologies: {self.technologies}", f"technologies, accepted: {self.accepted}"]


def load_labels(sample: Sample = FIRST) -> list[Label]:
    """Read the labels, in the order of the draw."""
    labels: list[Label] = json.loads((FOLDER / f"labels{sample.suffix}.json").read_text(encoding="utf-8"))
    return labels


def pair(items: Iterable[Item], labels: Iterable[Label]) -> list[tuple[Item, Label]]:
    """Put each item beside its label.

    Raises:
        ValueError: the pool has other items or other texts than those that were labelled.
    """
    pairs = list(zip(items, labels, strict=True))
    for item, label in pairs:
        if (item.path, item.sha256) != (label["path"], label["sha256"]):
            raise ValueError(f"{item.path}: not the item or not the text that was labelled ({label['path']})")
    return pairs


def evaluate(readings: Iterable[tuple[str, Label, Reading]]) -> Evaluation:
    """Compare readings with labels.

    Args:
        readings: name for people, label, reading.
    """
    evaluation = Evaluation()
    for name, label, reading in readings:
        misses: list[str] = []
        country = reading.places[0].country if reading.places else None
        _compare(evaluation, misses, label, "seniority", str(reading.seniority))
        _compare(evaluation, misses, label, "arrangement", str(reading.arrangement))
        _compare(evaluation, misses, label, "country", country)
        wanted = set(label.get("countries") or filter(None, [label["country"]]))
        found_countries = {place.country for place in reading.places if place.country}
        evaluation.shares["countries"].add(found_countries == wanted, False)
        _compare_pay(evaluation, misses, label, reading)
        _compare_years(evaluation, misses, label, reading)
        _compare_technologies(evaluation, misses, label, reading)
        evaluation.misses.append((name, misses))
    return evaluation


def yearly(salary: dict[str, Any] | None) -> Pay | None:
    """A year's pay of a label: least, most, currency."""
    if salary is None:
        return None
    times = IN_A_YEAR[salary["period"]]
    least, most = (None if salary[end] is None else salary[end] * times for end in ("min", "max"))
    return least, most, salary["currency"]


def _compare(evaluation: Evaluation, misses: list[str], label: Label, what: str, found: str | None) -> None:
    want, also = label[what], label.get("also", {}).get(what, [])
    evaluation.shares[what].add(found == want, found in also)
    if found != want:
        misses.append(f"{what} {found}, not {want}{' (or so)' if found in also else ''}")


def _compare_pay(evaluation: Evaluation, misses: list[str], label: Label, reading: Reading) -> None:
    want = yearly(label["salary"])
    found = (
        None if reading.salary is None else (reading.salary.minimum, reading.salary.maximum, reading.salary.currency)
    )
    is_right = _is_same_pay(found, want)
    is_accepted = found is None and None in label.get("also", {}).get("salary", [])
    evaluation.shares["no salary invented" if want is None else "salary present"].add(is_right, is_accepted)
    if not is_right:
        misses.append(f"salary {found}, not {want}")


def _is_same_pay(found: Pay | None, want: Pay | None) -> bool:
    if found is None or want is None:
        return found is want
    ends = zip(found[:2], want[:2], strict=True)
    near = all(a == b or (a is not None and b is not None and abs(a - b) <= 1) for a, b in ends)
    return near and found[2] == want[2]


def _compare_years(evaluation: Evaluation, misses: list[str], label: Label, reading: Reading) -> None:
    want, found = label["years"], reading.years_min
    also = label.get("also", {}).get("years", [])
    evaluation.shares["no years invented" if want is None else "years present"].add(found == want, found in also)
    if found != want:
        misses.append(f"years {found}, not {want}")


def _compare_technologies(evaluation: Evaluation, misses: list[str], label: Label, reading: Reading) -> None:
    want = {canonical_technology(name) for name in label["technologies"]}
    also = {canonical_technology(name) for name in label.get("also", {}).get("technologies", [])}
    found = set(reading.technologies)
    for count, extra in ((evaluation.technologies, found - want), (evaluation.accepted, found - want - also)):
        count.right += len(found & want)
        count.extra += len(extra)
        count.missed += len(want - found)
    if found - want:
        misses.append("extra: " + ", ".join(sorted(found - want)))
    if want - found:
        misses.append("missed: " + ", ".join(sorted(want - found)))
