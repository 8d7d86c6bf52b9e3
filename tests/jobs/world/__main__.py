"""The world as a process of its own: prints what leads there, then ``ready``, and serves until its input ends.

    python -m tests.jobs.world [--lever TOKEN:COUNT[:FILE]] [--build MODULE:FUNCTION] [--log FILE]

``--lever`` puts up a Lever board of so many openings, made up or after the texts of a corpus file of listings;
``--build`` calls a function with the world; ``--log`` gets a line of JSON for every request.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.jobs.world.openings import LONG_AGO, Opening, made_up, varied
from tests.jobs.world.world import World


def openings_of(path: Path) -> list[Opening]:
    """The listings of a corpus file (JSON lines), as they could stand on a board."""
    return [_opening(json.loads(line)) for line in path.read_text(encoding="utf-8").strip().split("\n")]


def _opening(row: dict[str, Any]) -> Opening:
    text = "\n".join(filter(None, (row["description"], row["salary_range"])))
    try:
        posted_at = datetime.fromisoformat(row.get("posted_date") or "").timestamp()
    except ValueError:
        posted_at = LONG_AGO
    return Opening(row["id"], row["title"], row["location"] or "", text, posted_at)


def lever(world: World, wanted: str) -> None:
    """``TOKEN:COUNT`` or ``TOKEN:COUNT:FILE``."""
    token, count, *file = wanted.split(":", 2)
    models = openings_of(Path(file[0])) if file else made_up(60)
    world.board("lever", token, varied(models, int(count)), etag=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lever", action="append", default=[])
    parser.add_argument("--build", action="append", default=[])
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    with ExitStack() as stack:
        log = stack.enter_context(options.log.open("a", encoding="utf-8")) if options.log else None
        world = stack.enter_context(World(log=log))
        for wanted in options.lever:
            lever(world, wanted)
        for name in options.build:
            module, _, function = name.partition(":")
            getattr(import_module(module), function)(world)
        for name, value in world.environment().items():
            sys.stdout.write(f"{name}={value}\n")
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
