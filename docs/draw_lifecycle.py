"""Draws docs/concepts/lifecycle.svg from the transitions in the code: which event leads from which state to which.

Run it with `make docs`. Pending is on the left, processing on the right, and between them are the five ends, so every
arrow is a straight line and nothing has to be placed by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from docs.drawing import CONCEPTS, LINE, arrow, box, height_of, lines, picture, text
from ramet.model.task.transitions import CANCELLED, FAILED, FILTERED, PENDING, PROCESSING, SKIPPED, SUCCESS, TRANSITIONS

PICTURE = Path(__file__).parent / CONCEPTS / "lifecycle.svg"
ENDS = (SUCCESS, FILTERED, FAILED, SKIPPED, CANCELLED)
"""In this order what a person excludes leads to a neighbour."""
BY_PERSON = "revive"
WIDTH, LEFT, RIGHT, SIDE = 900, 16, 772, 112
"""Of the picture, and of the two live states: where they begin, and their width."""
MIDDLE, END = 402, 96
CHARACTERS = {PENDING: 30, PROCESSING: 36}
"""How much text is beside an arrow that comes from a state."""
KIND = {SUCCESS: "good", FAILED: "bad"}


def events(source: str, target: str) -> str:
    """What leads from a state to another."""
    return ", ".join(one.name for one in TRANSITIONS if source in one.sources and target in one.targets)


def edges() -> dict[tuple[str, str], str]:
    """Every pair of states that something connects, with the events."""
    states = (PENDING, PROCESSING, *ENDS)
    return {(one, other): events(one, other) for one in states for other in states if events(one, other)}


def drawn() -> str:
    """The text of the file."""
    body: list[str] = []
    y: float = 44
    for source, target in ((PENDING, PROCESSING), (PROCESSING, PENDING)):
        said = events(source, target)
        across = (LEFT + SIDE, RIGHT) if source == PENDING else (RIGHT, LEFT + SIDE)
        body += lines((LEFT + SIDE + RIGHT) / 2, y, said, 90, kind="small code", anchor="middle")
        y += height_of(said, 90) - 6
        body.append(arrow(f"M{across[0]} {y:g}H{across[1]}"))
        y += 34
    body.append(text(MIDDLE + END / 2, y + 2, "ends", "small faint", "middle"))
    y += 14
    tops: dict[str, tuple[float, float]] = {}
    for end in ENDS:
        height = lane_height(end)
        tops[end] = (y, height)
        body += lane(end, y, height)
        y += height + 34
    body += excluded(tops)
    bottom = y - 18
    body += live(PENDING, LEFT, bottom) + live(PROCESSING, RIGHT, bottom)
    body += [
        text(
            LEFT,
            bottom + 24,
            "solid: by the engine and its handlers, or a person; dashed: only by a person",
            "small faint",
        )
    ]
    told = "; ".join(f"{source} to {target}: {said}" for (source, target), said in edges().items())
    return picture("The life of a task", told, WIDTH, int(bottom + 38), body)


def live(state: str, x: float, bottom: float) -> list[str]:
    """A live state, as tall as the picture, with what leaves a task in it."""
    made = list(box(x, 16, SIDE, bottom - 16, kind="live"))
    made.append(text(x + SIDE / 2, 38, state, "name", "middle"))
    made.append(text(x + SIDE / 2, 64, "stays:", "small faint", "middle"))
    for number, event in enumerate(events(state, state).split(", ")):
        made.append(text(x + SIDE / 2, 64 + LINE * (number + 1), event, "small code", "middle"))
    return made


def lane_height(end: str) -> float:
    """Of an end: room for the longer of its two labels, and for a way back."""
    labels = [height_of(events(source, end), CHARACTERS[source]) + 10 for source in (PENDING, PROCESSING)]
    labels[0] += 26 if events(end, PENDING) else 0
    return max(36, *labels)


def lane(end: str, y: float, height: float) -> Iterator[str]:
    """An end, with what leads there from both sides, and back."""
    yield from box(MIDDLE, y, END, height, end, kind=KIND.get(end, "box"))
    if said := events(PENDING, end):
        at = y + height_of(said, CHARACTERS[PENDING])
        yield from lines(LEFT + SIDE + 10, y + 10, said, CHARACTERS[PENDING], kind="small code")
        yield arrow(f"M{LEFT + SIDE} {at:g}H{MIDDLE}")
    if said := events(PROCESSING, end):
        at = y + height_of(said, CHARACTERS[PROCESSING])
        yield from lines(MIDDLE + END + 10, y + 10, said, CHARACTERS[PROCESSING], kind="small code")
        yield arrow(f"M{RIGHT} {at:g}H{MIDDLE + END}")
    if said := events(end, PENDING):
        at = y + height - 4
        yield text(MIDDLE - 10, at - 5, said, "small code", "end")
        yield arrow(f"M{MIDDLE} {at:g}H{LEFT + SIDE}", "back" if said == BY_PERSON else "")


def excluded(tops: dict[str, tuple[float, float]]) -> Iterator[str]:
    """What leads from one end to another: neighbours, by the order of the ends."""
    for number, end in enumerate(ENDS):
        for other in ENDS:
            if said := events(end, other):
                assert abs(number - ENDS.index(other)) == 1, f"{end} is no neighbour of {other}"
                (top, height), (there, its_height) = tops[end], tops[other]
                down = top < there
                start, stop = (top + height, there) if down else (top, there + its_height)
                yield arrow(f"M{MIDDLE + END / 2} {start:g}V{stop:g}", "back")
                yield text(MIDDLE + END / 2 + 8, (start + stop) / 2 + 4, said, "small code")


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
