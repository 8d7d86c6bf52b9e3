"""``python -m tests.jobs.sampled --pool DIR``: read the sampled postings and print figures and misses.

``--sample second`` takes another draw than the first. ``--ranking`` scores the listings of the two profiles instead.
``--answers FILE`` also writes what is printed as a page of Markdown. ``--draw`` names what is drawn, without reading
any of it: paths, titles and SHA-256. The folder has a clone of each pool (see ``pools.py``); nothing is fetched.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ramet.jobs.text.posting_text import read_posting
from tests.jobs.sampled.evaluation import Evaluation, evaluate, load_labels, pair
from tests.jobs.sampled.pools import FIRST, POOLS, SAMPLES, Item, Pool, Sample, can_be_drawn, listings, read_pool, texts
from tests.jobs.sampled.ranking import load_ranking, score, settings_for, summary, table


def read_pools(folder: Path) -> dict[Pool, list[Item]]:
    """Read what can be drawn of all pools."""
    return {pool: can_be_drawn(read_pool(pool, folder)) for pool in POOLS}


def evaluation_of(pools: dict[Pool, list[Item]], sample: Sample = FIRST) -> Evaluation:
    """Read the sample of texts and compare."""
    pairs = pair(texts(pools, sample), load_labels(sample))
    return evaluate((_name(item), label, read_posting(item.posting)) for item, label in pairs)


def page(evaluation: Evaluation) -> str:
    """The figures and the misses of each item as Markdown."""
    lines = ["| # | item | misses |", "| --- | --- | --- |"]
    for number, (name, misses) in enumerate(evaluation.misses, start=1):
        cells = (name, "; ".join(misses) or "none")
        lines.append(f"| {number} | " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(["```text", *evaluation.lines(), "```", "", *lines]) + "\n"


def ranking_page(pools: dict[Pool, list[Item]], sample: Sample = FIRST) -> str:
    """Score the listings of each profile; the figures and the table of each as Markdown."""
    lines: list[str] = []
    for profile, ranked in load_ranking(sample).items():
        settings = settings_for(profile)
        drawn = listings(pools, profile, sample)
        scored = [score(item, by_hand, settings) for item, by_hand in zip(drawn, ranked, strict=True)]
        lines += [f"## {profile}", "", "```text", *summary(scored), "```", "", *table(scored), ""]
    return "\n".join(lines)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.jobs.sampled", description=__doc__)
    parser.add_argument("--pool", type=Path, required=True, metavar="DIR", help="folder with a clone of each pool")
    parser.add_argument("--sample", choices=SAMPLES, default=FIRST.name, help="which draw (default: first)")
    parser.add_argument("--answers", type=Path, metavar="FILE", help="write the answers as Markdown")
    parser.add_argument("--ranking", action="store_true", help="score the listings of the two profiles")
    parser.add_argument("--draw", action="store_true", help="only name what is drawn")
    arguments = parser.parse_args()
    sample = SAMPLES[arguments.sample]
    if arguments.ranking and not sample.listings:
        parser.error(f"no listings are ranked of the {sample.name} sample: take another with --sample")
    try:
        pools = read_pools(arguments.pool)
    except FileNotFoundError as error:
        parser.error(str(error))
    if arguments.draw:
        ranked = [item for profile in sample.listings for item in listings(pools, profile, sample)]
        for item in [*texts(pools, sample), *ranked]:
            _print(f"{item.sha256[:12]} {item.path} | {item.posting.title}")
        return 0
    if arguments.ranking:
        answers = ranking_page(pools, sample)
        _print(answers)
    else:
        evaluation = evaluation_of(pools, sample)
        answers = page(evaluation)
        for name, misses in evaluation.misses:
            _print(*(f"{name}: {miss}" for miss in misses))
        _print("", *evaluation.lines())
    if arguments.answers is not None:
        arguments.answers.write_text(answers, encoding="utf-8")
    return 0


def _name(item: Item) -> str:
    return f"{item.posting.title[:60]}, {item.posting.company}, {item.posting.location or 'no place'}"


def _print(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    sys.exit(main())
