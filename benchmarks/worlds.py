"""Generated wikis of any size: a JSON Lines file of articles that link to each other.

    python -m benchmarks.worlds world.jsonl --articles 100000 --links 1000000

The same arguments give the same bytes anywhere. Every article is reached from the first one; a few are linked from
everywhere, as in a wiki that people wrote.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

CHILDREN = 4
"""Each article links to so many that nothing else may lead to: so all of them are reached."""
SKEW = 3.0
"""In-degree falls with rank as rank ** -(1 - 1 / SKEW): the exponent -2/3 of wikis that people wrote."""
MOST_AT_LEAST = 64
"""The first articles find enough to link to, although they are few."""
CATEGORIES = 400
SENTENCES = 12
WORDS = (
    "river harbour winter market engine letter garden bridge archive season village council orchard railway signal "
    "mountain compass painter ledger island theatre copper current journal meadow machine station valley printer canal"
).split()


class World(NamedTuple):
    """What is generated."""

    articles: int
    links: int
    """In all; no article links to itself, or twice to another."""
    markup: str = "wikitext"
    """`wikitext`, or `plain` with links and categories beside the text."""
    width: int = 0
    """Articles in a level, about: a long wiki of even levels, so that what a level costs is spread evenly over a run.
    0: a small world, most of it in two levels."""

    def children(self, number: int) -> range:
        """Which articles are surely reached through this one."""
        wide = self.width // (CHILDREN - 1) or self.articles
        first = CHILDREN * number + 1 if number < wide else (CHILDREN - 1) * wide + number + 1
        return range(min(first, self.articles), min(first + (CHILDREN if number < wide else 1), self.articles))


def title_of(number: int) -> str:
    """The title of an article; 0 is the one to begin with."""
    first, second = WORDS[number % len(WORDS)], WORDS[number // len(WORDS) % len(WORDS)]
    return f"{first.capitalize()} {second} {number}"


def records(world: World) -> Iterator[dict[str, Any]]:
    """The lines of the file, one after the other; nothing is kept.

    Raises:
        ValueError: so many links cannot be, or cannot reach every article.
    """
    mean = world.links // max(world.articles, 1)
    if not CHILDREN < mean < world.articles // 4:
        raise ValueError(
            f"{world.links} links of {world.articles} articles: give from {CHILDREN + 1} to a quarter each"
        )
    extra, spread = world.links - mean * world.articles, 0
    for number in range(world.articles):
        chance = random.Random(number)
        # What one has more than the mean, the next has less.
        spread = -spread if number % 2 else chance.randrange(mean - CHILDREN)
        last = number == world.articles - 1 and not number % 2
        wanted = mean + (0 if last else spread) + (number < extra)
        yield _record(world, number, targets(world, number, wanted, chance), chance)


def targets(world: World, number: int, wanted: int, chance: random.Random) -> list[int]:
    """Which articles one links to, in the order of its text."""
    children = world.children(number)
    found = dict.fromkeys(children)
    # Nothing leads farther than the next level: so an article's level is where the children have it.
    end = max(children.stop, MOST_AT_LEAST) if world.width else world.articles
    while len(found) < wanted:
        target = int(end * chance.random() ** SKEW)
        if target != number:
            found[target] = None
    ordered = list(found)
    chance.shuffle(ordered)
    return ordered


def _record(world: World, number: int, linked: list[int], chance: random.Random) -> dict[str, Any]:
    titles = [title_of(target) for target in linked]
    categories = [f"Kind {number % CATEGORIES}", f"Letter {title_of(number)[0]}"]
    sentences = [" ".join(chance.choices(WORDS, k=9)).capitalize() for _ in range(SENTENCES)]
    parts = [sentences[at::3] for at in range(3)]
    headings = ["", "\n\n== History ==\n", "\n\n== Today ==\n"]
    if world.markup == "plain":
        text = "".join(f"{heading}{'. '.join(part)}." for heading, part in zip(headings, parts, strict=True))
        return {"title": title_of(number), "text": text, "links": titles, "categories": categories}
    for at, title in enumerate(titles):
        parts[at % 3].append(f"See [[{title}]]" if at % 2 else f"It is near the [[{title}|{title.split()[0].lower()}]]")
    text = "".join(f"{heading}{'. '.join(part)}." for heading, part in zip(headings, parts, strict=True))
    named = "".join(f"\n[[Category:{category}]]" for category in categories)
    begin = f"{{{{Infobox|name={title_of(number)}|number={number}}}}}\n'''{title_of(number)}''' "
    return {
        "title": title_of(number), "ns": 0, "redirect": None, "revid": number + 1, "timestamp": "2020-01-01T00:00:00Z",
        "wikitext": f"{begin}{text}\n{named}",
    }  # fmt: skip


def write(world: World, path: Path) -> None:
    """Make the file, all of it or nothing."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    with unfinished.open("w", encoding="utf-8") as out:
        for record in records(world):
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
    os.replace(unfinished, path)


def main() -> None:
    """Read the command line and write the file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worlds", description="Generate a wiki.")
    parser.add_argument("path", type=Path)
    parser.add_argument("--articles", type=int, default=100_000)
    parser.add_argument("--links", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=0, help="articles in a level; a small world by default")
    parser.add_argument("--markup", choices=("wikitext", "plain"), default="wikitext")
    asked = parser.parse_args()
    try:
        write(World(asked.articles, asked.links, asked.markup, asked.width), asked.path)
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
