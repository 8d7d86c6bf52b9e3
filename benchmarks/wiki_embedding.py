"""Sections embedded per second: by a whole expansion, and by the bare embedder on the same texts, in one run.

    python -m benchmarks.wiki_embedding                             # 500 articles of the bundled set, 3 turns
    python -m benchmarks.wiki_embedding --source pages.jsonl --seed "Anarchism" --articles 150 --json

In turns: `ramet wiki expand` into an empty folder, from the start of the command to its end; then the embedder alone,
in a process of its own, over the sections of that graph. What a command costs that loads one article is measured too:
it is what starting costs, and is taken off in `ratio_without_start`.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.wiki_scale import EXPAND, run
from ramet.wiki.embedding.registry import DEFAULT, open_embedder
from ramet.wiki.graphs import passages
from ramet.wiki.graphs.registry import open_graph_reader
from ramet.wiki.pages import Article, Section
from ramet.wiki.sources.dataset import default_data_dir
from ramet.wiki.sources.registry import BUNDLED

BARE = (sys.executable, "-m", "benchmarks.wiki_embedding", "--bare")


class Spent(NamedTuple):
    """What so many sections took."""

    sections: int
    seconds: float
    cpu_seconds: float
    """Of all processes."""


def expand(asked: argparse.Namespace, folder: Path, articles: int) -> tuple[list[str], Spent]:
    """Expand into an empty folder; what its sections are embedded as, and what it took.

    Raises:
        SystemExit: the command did not end well; its output is shown.
    """
    folder.mkdir()
    graph, log = folder / asked.graph, folder / "log"
    command = [
        *EXPAND, *asked.seed, "--source", asked.source, "--db", str(folder / "wiki.db"), "--graph", str(graph),
        "--max-articles", str(articles), *(["--embed", asked.embed] if asked.embed != DEFAULT else []),
        *shlex.split(asked.options),
    ]  # fmt: skip
    status, samples, _ = run(command, log)
    if status:
        sys.exit(f"{shlex.join(command)} ended with {status}:\n{log.read_text(errors='replace')[-3_000:]}")
    texts = texts_of(graph)
    return texts, Spent(len(texts), samples[-1].at - samples[0].at, samples[-1].cpu_seconds)


def texts_of(graph: Path) -> list[str]:
    """What the sections of a graph were embedded as."""
    titles: dict[str, str] = {}
    texts = []
    with open_graph_reader(graph) as reader:
        for node in reader.nodes():
            label, _, name = node.node_id.partition(":")
            if label == "Article":
                titles[name] = str(node.properties["title"])
            elif label == "Section":
                key = name.rpartition("#")[0]
                section = Section(
                    str(node.properties["heading"]), int(node.properties["level"]), str(node.properties["text"])
                )
                texts += passages.texts_of(Article(titles[key], key, (section,)))
    return texts


def bare(texts: Path, spec: str) -> Spent:
    """Embed these texts in this process, and do nothing else. Loading the model is not counted."""
    embedder = open_embedder(spec, default_data_dir())
    if embedder is None:
        sys.exit("nothing is embedded by 'none'")
    wanted = json.loads(texts.read_text(encoding="utf-8"))
    embedder.embed(wanted[:1])
    began_at, spent_before = time.perf_counter(), time.process_time()
    embedder.embed(wanted)
    return Spent(len(wanted), time.perf_counter() - began_at, time.process_time() - spent_before)


def bare_beside(texts: list[str], spec: str, folder: Path) -> Spent:
    """The same in a process of its own."""
    path = folder / "texts.json"
    path.write_text(json.dumps(texts), encoding="utf-8")
    done = subprocess.run([*BARE, str(path), "--embed", spec], stdout=subprocess.PIPE, text=True, check=True)
    return Spent(*json.loads(done.stdout))


def measure(asked: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All turns, in this folder."""
    starts, whole, alone = [], [], []
    for turn in range(asked.turns):
        _, start = expand(asked, folder / f"start-{turn}", len(asked.seed))
        texts, expansion = expand(asked, folder / f"turn-{turn}", asked.articles)
        starts.append(start)
        whole.append(expansion)
        alone.append(bare_beside(texts, asked.embed, folder))
    return report(starts, whole, alone)


def report(starts: list[Spent], whole: list[Spent], alone: list[Spent]) -> dict[str, Any]:
    """Medians over the turns, and the ratios of them."""
    bare_rate = median(spent.sections / spent.seconds for spent in alone)
    rate = median(spent.sections / spent.seconds for spent in whole)
    without_start = median(
        (spent.sections - start.sections) / (spent.seconds - start.seconds)
        for start, spent in zip(starts, whole, strict=True)
    )
    return {
        "sections": whole[0].sections,
        "turns": len(whole),
        "start_seconds": round(median(start.seconds for start in starts), 2),
        "sections_per_s": round(rate, 1),
        "bare_sections_per_s": round(bare_rate, 1),
        "ratio": round(rate / bare_rate, 3),
        "ratio_without_start": round(without_start / bare_rate, 3),
        "cpu_ms_per_section": round(median(spent.cpu_seconds / spent.sections for spent in whole) * 1e3, 2),
        "bare_cpu_ms_per_section": round(median(spent.cpu_seconds / spent.sections for spent in alone) * 1e3, 2),
    }


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.wiki_embedding", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--articles", type=int, default=500)
    parser.add_argument("--source", default=BUNDLED)
    parser.add_argument("--seed", action="append", help="may be given several times")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--embed", default=DEFAULT, help="which embedder, as `ramet wiki expand` takes it")
    parser.add_argument("--graph", default="wiki.lbug", help="name of the graph: its suffix says which kind")
    parser.add_argument("--options", default="", help="further words for `ramet wiki expand`")
    parser.add_argument("--folder", type=Path, help="where to work, kept afterwards; a temporary one by default")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--bare", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.bare is not None:
        print(json.dumps(bare(asked.bare, asked.embed)))
        return
    asked.seed = asked.seed or ["Alan Turing", "Ada Lovelace"]
    if asked.folder is not None:
        asked.folder.mkdir(parents=True, exist_ok=True)
    with nullcontext(asked.folder) if asked.folder else tempfile.TemporaryDirectory() as folder:
        found = measure(asked, Path(folder).absolute())
    print(json.dumps(found) if asked.json else "\n".join(f"{name}: {value:,}" for name, value in found.items()))


if __name__ == "__main__":
    main()
