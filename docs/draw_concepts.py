"""Draws the pictures of docs/concepts that show one idea each: lineage, guard, leases, limits, money.

Run it with `make docs`. What they say about the engine (the guard's order, limits, seconds) is read from the code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from docs.drawing import CONCEPTS, arrow, box, lines, picture, text
from ramet.model.lineage.guard import BlockReason
from ramet.model.lineage.limits import HEARTBEAT_SECONDS, LEASE_SECONDS, Limits

FOLDER = Path(__file__).parent / CONCEPTS
LIMITS = Limits()


# --- a lineage

NODES = {
    "home": (180, 44, "success"),
    "news": (90, 134, "success"),
    "about": (270, 134, "processing"),
    "archive": (90, 224, "pending"),
    "team": (270, 224, "pending"),
}
SPAWNED = (("home", "news"), ("home", "about"), ("news", "archive"), ("about", "team"))
KINDS = {"success": "good", "processing": "live", "pending": "box"}
WIDE, TALL = 120, 40


def node(name: str) -> Iterator[str]:
    """A task of the lineage: its key and its state."""
    x, y, state = NODES[name]
    yield from box(x, y, WIDE, TALL, kind=KINDS[state])
    yield text(x + WIDE / 2, y + 17, name, "name", "middle")
    yield text(x + WIDE / 2, y + 33, state, "small faint", "middle")


def lineage() -> str:
    """A tree of tasks beside the row that bounds it."""
    body: list[str] = []
    for parent, child in SPAWNED:
        (x, y, _), (to, down, _) = NODES[parent], NODES[child]
        body.append(arrow(f"M{x + WIDE / 2} {y + TALL}L{to + WIDE / 2} {down}"))
    for name in NODES:
        body += node(name)
    for depth in range(3):
        body.append(text(16, 68 + depth * 90, f"depth {depth}", "small faint"))
    body += [
        arrow("M390 154C450 150 450 66 302 62", "no"),
        text(440, 100, "about asks for home: cycle", "small refused"),
        text(440, 116, "home is above it", "small faint"),
        arrow("M150 264C160 306 320 306 330 266", "no"),
        text(150, 314, "archive asks for team: in_flight, it is there already", "small refused"),
    ]
    x, y = 632, 44
    body += box(x, y, 244, 222, kind="box")
    body.append(text(x + 14, y + 24, "the row of the lineage", "name"))
    rows = (
        ("tracking_id", "first"),
        ("state", "running"),
        ("tasks", f"{len(NODES)} of {LIMITS.max_tasks:,}"),
        ("live", str(sum(state != "success" for _, _, state in NODES.values()))),
        ("depth at most", f"{LIMITS.max_spawn_depth}"),
        ("children of one", f"{LIMITS.max_fan_out:,} at most"),
        ("deadline", f"{hours(LIMITS.lineage_seconds)} from its start"),
        ("money", "no ceiling" if LIMITS.max_cost is None else str(LIMITS.max_cost)),
    )
    for number, (name, value) in enumerate(rows):
        body.append(text(x + 14, y + 52 + number * 21, name, "small faint"))
        body.append(text(x + 124, y + 52 + number * 21, value, "small"))
    told = "A root spawns two tasks, each spawns one more. Refused: one back to the root, one for a task that exists."
    return picture("A lineage and its row", told, 892, 330, body)


# --- the guard

QUESTIONS = {
    "cancelled": "is the lineage alive, and the claim current?",
    "depth": "is it too deep?",
    "cycle": "does an ancestor work on this key?",
    "in_flight": "is the key taken in this lineage?",
    "elsewhere": "does another lineage hold it?",
    "budget": "is there room, time and money?",
    "stop_list": "is it on the deny list?",
    "trap": "are there too many that look alike?",
}
"""The first reason of each group of checks -> the question that the group asks; later reasons join their group."""


def groups() -> list[tuple[str, list[str]]]:
    """The questions in the guard's order, each with the reasons that it refuses by."""
    found: list[tuple[str, list[str]]] = []
    for reason in BlockReason:
        if reason.value in QUESTIONS:
            found.append((QUESTIONS[reason.value], []))
        if reason is not BlockReason.RESERVE:
            found[-1][1].append(reason.value)
    assert len(found) == len(QUESTIONS), "a question begins with a reason that is gone"
    return found


def guard() -> str:
    """The questions in their order, and what each refuses."""
    asked = groups()
    x, width, step, y = 190, 330, 50, 16
    body = list(box(x + 65, y, 200, 32, "a wanted child", kind="live"))
    for number, (question, reasons) in enumerate(asked):
        top = y + 32 + 18 + number * step
        body.append(arrow(f"M{x + width / 2} {top - 18}V{top}"))
        body += box(x, top, width, 32, kind="box")
        body.append(text(x + width / 2, top + 20.5, question, "", "middle"))
        body.append(arrow(f"M{x + width} {top + 16}H{x + width + 60}", "no"))
        body.append(text(x + width + 70, top + 20.5, ", ".join(reasons), "code refused"))
    top = y + 50 + len(asked) * step
    body.append(arrow(f"M{x + width / 2} {top - 18}V{top}"))
    body += box(x + 65, top, 200, 32, "the task exists", kind="good")
    body += lines(16, 60, "one transaction: with the spawning task's end, or its checkpoint", 22, kind="small faint")
    body += lines(16, top + 12, "place, budget and fan-out are taken together", 24, kind="small faint")
    body += lines(x + width + 70, top + 12, "stored with the task that is in the way", 40, kind="small faint")
    return picture("The guard's questions", "; ".join(f"{q} {', '.join(r)}" for q, r in asked), 880, top + 60, body)


# --- leases


def leases() -> str:
    """A worker that freezes, another that takes over, and the first one's late word."""
    left, second = 110, 1.25
    lease, beat = LEASE_SECONDS, HEARTBEAT_SECONDS

    def at(seconds: float) -> float:
        return left + seconds * second

    frozen = 3 * beat
    lapsed = frozen + lease
    taken, ended, late = lapsed + 20, lapsed + 110, lapsed + 150
    body = [
        text(16, 66, "worker A", "name"),
        text(16, 176, "worker B", "name"),
        text(16, 118, "the lease", "small faint"),
    ]
    body += box(at(0), 44, frozen * second, 34, kind="live")
    body.append(text(at(4), 66, "runs, fence 7", "small"))
    body += box(at(frozen), 44, (late - frozen) * second, 34, kind="box")
    body.append(text(at(frozen + 8), 66, "frozen: no heartbeat any more", "small faint"))
    for number in range(4):
        body.append(f'<line class="line" x1="{at(number * beat):g}" y1="78" x2="{at(number * beat):g}" y2="104"/>')
    body += box(at(0), 104, lapsed * second, 20, kind="held")
    body.append(
        text(at(6), 118.5, f"each heartbeat, every {beat:.0f} s, moves its end to {lease:.0f} s from then", "small")
    )
    body.append(text(at(lapsed) - 4, 140, "it lapses: the task is pending again", "small faint", "end"))
    body += box(at(taken), 154, (ended - taken) * second, 34, kind="live")
    body.append(text(at(taken + 5), 176, "runs, fence 8", "small"))
    body.append(arrow(f"M{at(ended):g} 188V206"))
    body.append(text(at(ended) + 6, 222, "complete, fence 8: accepted", "small", "end"))
    body.append(arrow(f"M{at(late):g} 78V240", "no"))
    body.append(text(at(late) + 6, 256, "complete, fence 7: stale, nothing changes", "small refused", "end"))
    told = (
        "Worker A runs a task under fence 7 and freezes. Its lease lapses, worker B claims the task under fence 8 and "
        "completes it. What A says later is refused as stale."
    )
    return picture("A lease that lapses, and a fence that refuses", told, 860, 274, body)


# --- limits


def hours(seconds: float | None) -> str:
    """Of a built-in limit, which is there."""
    assert seconds is not None
    return f"{seconds / 3600:.0f} h"


def minutes(seconds: float) -> str:
    """The same for shorter times."""
    return f"{seconds / 60:.0f} min"


def limits() -> str:
    """What bounds what: each layer inside the next, with its built-in numbers."""
    size = f"{LIMITS.max_tasks:,} tasks, depth {LIMITS.max_spawn_depth}; a ceiling of money if you give one"
    attempts = f"{LIMITS.max_attempts} attempts, continues itself {LIMITS.max_chain_depth} times"
    layers = (
        ("schedule", f"a run every {minutes(LIMITS.schedule_seconds)}, one at a time"),
        ("lineage", f"{hours(LIMITS.lineage_seconds)}, {size}"),
        ("task", f"{hours(LIMITS.task_seconds)} from its first claim, {attempts}"),
        (
            "invocation",
            f"{minutes(LIMITS.invocation_seconds)} for a call of the handler, {LIMITS.invocation_items:,} items",
        ),
        ("call to the outside", f"{LIMITS.call_seconds:.0f} s, {LIMITS.call_retries} retries"),
    )
    body: list[str] = []
    inset, step, height = 26, 48, 48 * len(layers) + 30
    kinds = ("box", "live", "box", "live", "box")
    for number, (name, said) in enumerate(layers):
        x, y = 16 + number * inset, 16 + number * step
        body += box(x, y, 860 - 2 * number * inset, height - number * (step + 8), kind=kinds[number])
        body.append(text(x + 14, y + 21, name, "name"))
        body.append(text(x + 14, y + 38, said, "small faint"))
    told = "; ".join(f"{name}: {said}" for name, said in layers)
    return picture("Layers of limits, each inside the next", told, 892, height + 32, body)


# --- money


def money() -> str:
    """Four moments of a ceiling: what is spent, what is reserved, what is free."""
    moments = (
        ("reserve 30", 40, 30, "fits: 40 spent + 30 reserved", True),
        ("reserve 40", 40, 30, "refused before the call: 40 + 30 + 40 is over 100", False),
        ("settle 18 of the 30", 58, 0, "what it cost is booked, the rest is free again", True),
        ("reserve 40", 58, 40, "fits now", True),
    )
    left, scale, step = 210, 3.4, 62
    body = [text(left + 100 * scale, 22, "ceiling: 100", "small faint", "middle")]
    for number, (asked, spent, reserved, said, allowed) in enumerate(moments):
        y = 34 + number * step
        body.append(text(16, y + 19, asked, "code" if allowed else "code refused"))
        body += box(left, y, spent * scale, 28, kind="good")
        body.append(text(left + 8, y + 19, f"spent {spent}", "small"))
        if reserved:
            body += box(left + spent * scale, y, reserved * scale, 28, kind="held")
            body.append(text(left + spent * scale + 8, y + 19, f"reserved {reserved}", "small"))
        if not allowed:
            start = left + (spent + reserved) * scale
            body.append(f'<rect class="no" x="{start:g}" y="{y}" width="{40 * scale:g}" height="28" rx="6"/>')
        body.append(text(left, y + 44, said, "small faint" if allowed else "small refused"))
    end, bottom = left + 100 * scale, 10 + 4 * step
    body.append(f'<line class="line" x1="{end:g}" y1="28" x2="{end:g}" y2="{bottom}"/>')
    told = "; ".join(f"{asked}: {said}" for asked, _, _, said, _ in moments)
    return picture("Reserved before the call, settled after it", told, 720, 34 + 4 * step, body)


PICTURES: dict[str, Callable[[], str]] = {
    "lineage.svg": lineage,
    "guard.svg": guard,
    "leases.svg": leases,
    "limits.svg": limits,
    "money.svg": money,
}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")
