"""Writes docs/concepts/ordering.svg: a scripted history, as the store runs it, drawn as a timeline.

Run it with `make docs`. Tasks are submitted at set moments and take a set time; when each begins is what the database
says. Whoever may begin does so at once: there is a worker for everybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from ramet import App, Claim, Client, path_key
from ramet.testing import FakeClock, fresh_client

PICTURE = Path(__file__).parent / "concepts" / "ordering.svg"
SECONDS = 10.0
"""Of a step: the longest task ends well within its lease."""


class Asked(NamedTuple):
    """A task of the history; moments and durations in steps."""

    name: str
    path: Sequence[str]
    submitted: int
    takes: int


HISTORY = (
    Asked("edit", ["doc"], 0, 3),
    Asked("review", ["doc", "review"], 0, 2),
    Asked("reviewer A", ["doc", "review", "A"], 0, 5),
    Asked("reviewer B", ["doc", "review", "B"], 0, 3),
    Asked("check", ["doc", "check"], 1, 4),
    Asked("publish", ["doc"], 4, 2),
    Asked("index", ["doc", "index"], 6, 2),
    Asked("edit", ["other"], 1, 6),
)


class Ran(NamedTuple):
    """What became of one."""

    asked: Asked
    waited_for: tuple[str, ...]
    """The tasks that it waited on, one after the other."""
    began: int
    ended: int


# --- running


async def run(history: Sequence[Asked]) -> list[Ran]:
    """Let the store decide who begins when."""
    app, clock = App(), FakeClock()
    async with fresh_client(app, clock=clock) as client:
        ids: dict[str, Asked] = {}
        claims: dict[str, Claim] = {}
        began: dict[str, int] = {}
        ended: dict[str, int] = {}
        waits: dict[str, list[str]] = {}
        step = 0
        while len(ended) < len(history):
            for task_id, claim in list(claims.items()):
                if began[task_id] + ids[task_id].takes == step:
                    await claim.complete()
                    ended[task_id] = step
                    del claims[task_id]
            for asked in history:
                if asked.submitted == step:
                    ids[(await client.submit("work", asked, path=asked.path)).id] = asked
            for claim in await client.claim("work", n=len(history)):
                claims[claim.id], began[claim.id] = claim, step
            for waiting, blocker in await waiting_now(client):
                told = waits.setdefault(waiting, [])
                if ids[blocker].name not in told:
                    told.append(ids[blocker].name)
            step += 1
            clock.advance(SECONDS)
    return [Ran(asked, tuple(waits.get(i, ())), began[i], ended[i]) for i, asked in ids.items()]


async def waiting_now(client: Client) -> list[tuple[str, str]]:
    """Ids: who waits, and on whom."""
    rows = await client.read(
        "SELECT t.id, b.id FROM ramet_paths p JOIN ramet_paths q ON q.ticket = p.waits_on "
        "JOIN ramet_tasks t ON t.seq = p.seq JOIN ramet_tasks b ON b.seq = q.seq ORDER BY p.ticket"
    )
    return [(str(waiting), str(blocker)) for waiting, blocker in rows]


# --- drawing

STEP, ROW, LEFT, TOP = 44, 34, 250, 34
"""In pixels: the width of a step, the height of a row, and the margins for names and for the scale."""
STYLE = """
  .paper { fill: #ffffff } .grid { stroke: #d8dee4 } text { fill: #1f2328; font: 13px ui-sans-serif, sans-serif }
  .path, .scale, .on { fill: #59636e } .path { font: 12px ui-monospace, monospace } .scale, .on { font-size: 11px }
  .waits { stroke: #9a6700; stroke-width: 2; stroke-dasharray: 3 4 } .tick { stroke: #9a6700; stroke-width: 3 }
  .runs { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } .grid { stroke: #2a313c } text { fill: #e6edf3 } .path, .scale, .on { fill: #9198a1 }
    .waits, .tick { stroke: #d29922 } .runs { fill: #4493f8 }
  }
"""


def at(step: float) -> float:
    return LEFT + step * STEP


def drawn(ran: Sequence[Ran]) -> Iterator[str]:
    """The picture, line by line."""
    last = max(one.ended for one in ran)
    width, height = at(last) + 24, TOP + len(ran) * ROW + 44
    told = "; ".join(f"{one.asked.name} {path_key(one.asked.path)} runs {one.began} to {one.ended}" for one in ran)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
    yield f"  <title>Who runs when</title><desc>{escape(told)}</desc>"
    yield f"  <style>{STYLE}  </style>"
    yield f'  <rect class="paper" width="{width}" height="{height}" rx="6"/>'
    bottom = TOP + len(ran) * ROW
    for step in range(last + 1):
        yield f'  <line class="grid" x1="{at(step)}" y1="{TOP - 6}" x2="{at(step)}" y2="{bottom}"/>'
        yield f'  <text class="scale" x="{at(step)}" y="{TOP - 14}" text-anchor="middle">{step}</text>'
    for number, one in enumerate(ran):
        yield from row(one, TOP + number * ROW + ROW // 2)
    yield from legend(bottom + 26)
    yield "</svg>"


def row(one: Ran, y: int) -> Iterator[str]:
    """One task."""
    submitted, began = at(one.asked.submitted), at(one.began)
    yield f'  <text x="14" y="{y + 5}">{escape(one.asked.name)}</text>'
    yield f'  <text class="path" x="100" y="{y + 5}">{escape(path_key(one.asked.path))}</text>'
    yield f'  <rect class="runs" x="{began}" y="{y - 9}" width="{at(one.ended) - began}" height="18" rx="3"/>'
    if began > submitted:
        yield f'  <line class="waits" x1="{submitted}" y1="{y}" x2="{began}" y2="{y}"/>'
        on = ", then ".join(one.waited_for)
        yield f'  <text class="on" x="{submitted + 6}" y="{y - 4}">{escape(f"on {on}")}</text>'
    yield f'  <line class="tick" x1="{submitted}" y1="{y - 9}" x2="{submitted}" y2="{y + 9}"/>'


def legend(y: int) -> Iterator[str]:
    """What the marks mean."""
    yield f'  <line class="tick" x1="{LEFT}" y1="{y - 13}" x2="{LEFT}" y2="{y + 5}"/>'
    yield f'  <text class="scale" x="{LEFT + 8}" y="{y}">submitted</text>'
    yield f'  <line class="waits" x1="{LEFT + 90}" y1="{y - 4}" x2="{LEFT + 130}" y2="{y - 4}"/>'
    yield f'  <text class="scale" x="{LEFT + 138}" y="{y}">waits on</text>'
    yield f'  <rect class="runs" x="{LEFT + 210}" y="{y - 13}" width="40" height="18" rx="3"/>'
    yield f'  <text class="scale" x="{LEFT + 258}" y="{y}">runs</text>'


def picture_of(ran: Sequence[Ran]) -> str:
    """The text of the file."""
    return "\n".join([*drawn(ran), ""])


if __name__ == "__main__":
    PICTURE.write_text(picture_of(asyncio.run(run(HISTORY))), encoding="utf-8")
