"""``python -m tests.wiki.questions --pool DIR``: check that the questions are those of the draw."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tests.wiki.questions import pool

QUESTIONS = Path(__file__).parent / "questions.json"
COUNT = 20


def check_draw(folder: Path) -> None:
    """Raise ValueError where the questions are not about the sections of the draw, in its order."""
    asked = {
        name: [(one["article"], one["section"]) for one in several]
        for name, several in json.loads(QUESTIONS.read_text(encoding="utf-8")).items()
    }
    found = pool.articles(folder)

    def first(drawn: Iterator[pool.Drawn]) -> list[tuple[str, str]]:
        return [*islice((one[:2] for one in drawn if one[:2] not in asked["passed over"]), COUNT)]

    for name, drawn in (("deep", first(pool.deep(found))), ("leads", first(pool.leads(found)))):
        if asked[name] != drawn:
            raise ValueError(f"{name}: {sorted({*asked[name]} ^ {*drawn})} differ from the draw")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pool", type=Path, required=True, help="folder with clones of the two repositories")
    check_draw(parser.parse_args().pool)
    sys.stdout.write("the questions are those of the draw\n")
