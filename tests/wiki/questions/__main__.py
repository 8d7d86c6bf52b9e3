"""``python -m tests.wiki.questions --pool DIR``: check that the questions are those of the draw.

``--answers english`` (or ``french``) searches for each of them and writes what was found, question by question."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ramet.wiki.embedding.base import Embedder
from ramet.wiki.embedding.registry import open_embedder
from ramet.wiki.graphs.base import EmbeddedArticle, SearchHit
from ramet.wiki.graphs.passages import texts_of
from ramet.wiki.graphs.registry import open_graph_reader, open_graph_writer
from ramet.wiki.graphs.search import FUSED, fused
from ramet.wiki.sources.dataset import default_data_dir
from tests.wiki.questions import pool

QUESTIONS = Path(__file__).parent / "questions.json"
COUNT = 20
ARTICLES_AT_ONCE = 16


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


def answer(folder: Path, name: str, embedder: Embedder, *, language: str) -> list[dict[str, Any]]:
    """Search a graph of the pages for each question, as `ramet wiki search` does, and say where its section is."""
    found = pool.french(default_data_dir()) if name == "french" else pool.articles(folder)
    with TemporaryDirectory() as place:
        path = Path(place) / "questions.sqlite"
        with open_graph_writer(
            path, model_id=embedder.model_id, dimension=embedder.dimension, language=language
        ) as graph:
            for start in range(0, len(found), ARTICLES_AT_ONCE):
                some = found[start : start + ARTICLES_AT_ONCE]
                graph.load_articles([EmbeddedArticle(one, 0, tuple(embedder.embed(texts_of(one)))) for one in some])
        answers = []
        for name_of in ("deep", "leads") if name == "english" else (name,):
            for one in json.loads(QUESTIONS.read_text(encoding="utf-8"))[name_of]:
                hits = search_with(path, one["question"], embedder)
                places = [(hit.title, hit.heading) for hit in hits]
                wanted = (one["article"], one["section"])
                answers.append({
                    "kind": name_of, "question": one["question"], "wanted": list(wanted),
                    "rank": places.index(wanted) + 1 if wanted in places else None, "first": list(places[0]),
                })  # fmt: skip
        return answers


def search_with(path: Path, question: str, embedder: Embedder) -> list[SearchHit]:
    """Return the first twenty sections by the default ranking."""
    with open_graph_reader(path) as graph:
        found = fused([
            graph.search_words(question, limit=FUSED), graph.search(embedder.embed_query(question), limit=FUSED)
        ])  # fmt: skip
        return graph.read_hits(found, 20)


def summary(answers: list[dict[str, Any]]) -> str:
    """Return the shares of questions whose section is first, and among the first five."""
    lines = []
    for kind in dict.fromkeys(one["kind"] for one in answers):
        ranks = [one["rank"] for one in answers if one["kind"] == kind]
        first = sum(rank == 1 for rank in ranks) / len(ranks)
        five = sum(rank is not None and rank <= 5 for rank in ranks) / len(ranks)
        lines.append(f"{kind}: {len(ranks)} questions, first {first:.2f}, among the first five {five:.2f}\n")
    return "".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pool", type=Path, required=True, help="folder with clones of the two repositories")
    parser.add_argument("--answers", choices=("english", "french"), help="search for each question, and write answers")
    parser.add_argument("--embed", default="onnx", help="the model, as `ramet wiki expand` takes it")
    arguments = parser.parse_args()
    if arguments.answers is None:
        check_draw(arguments.pool)
        sys.stdout.write("the questions are those of the draw\n")
    else:
        model = open_embedder(arguments.embed, default_data_dir())
        assert model is not None
        code = {"english": "en", "french": "fr"}[arguments.answers]
        answered = answer(arguments.pool, arguments.answers, model, language=code)
        file = QUESTIONS.with_name(f"answers_{arguments.answers}.json")
        file.write_text(json.dumps(answered, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        sys.stdout.write(summary(answered))
