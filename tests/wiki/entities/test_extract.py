"""Extractions: each section is asked once, under a ceiling, and the graph says what the answers say."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ramet import App
from ramet.cli import main
from ramet.wiki import open_graph
from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.graphs.base import EmbeddedArticle, GraphAlias, GraphSection
from ramet.wiki.graphs.ladybug_reader import LadybugReading
from ramet.wiki.graphs.passages import texts_of
from ramet.wiki.graphs.registry import Graph, open_graph_reader, open_graph_writer
from ramet.wiki.graphs.sqlite_reader import SqliteReading
from tests.wiki.article_texts import article_from_text
from tests.wiki.entities.extraction_server import Extractor, extractor, names_in

MODEL = HashingEmbedder()
TEXTS = {
    "Alan Turing": "Alan Turing was a mathematician who worked with Joan Clarke.\n"
    "== Work ==\nHe worked at Bletchley Park during the war, near Milton Keynes.",
    "Bletchley Park": "Bletchley Park was an estate where Turing and many others worked.",
}
"""Three sections. The graph knows the redirect Turing."""
IN, OUT = 1_000, 2_000
"""Nano-dollars for a token in and out, at --price 1:2."""

pytestmark = [pytest.mark.network]


def load(graph: Graph, texts: dict[str, str]) -> None:
    articles = [article_from_text(title, text) for title, text in texts.items()]
    graph.load_articles([EmbeddedArticle(one, 0, tuple(MODEL.embed(texts_of(one)))) for one in articles])


@pytest.fixture(params=["lbug", "sqlite"])
def graph(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param == "lbug":
        pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
    for name in ("RAMET_LLM_API_KEY", "OPENAI_API_KEY", "RAMET_DB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"graph.{request.param}"
    with open_graph_writer(path, model_id=MODEL.model_id, dimension=MODEL.dimension) as writer:
        load(writer, TEXTS)
        writer.add_aliases([GraphAlias("Turing", "Turing", "Alan Turing")])
    return path


@pytest.fixture
def provider() -> Iterator[Extractor]:
    with extractor() as running:
        yield running


def run(graph: Path, provider: Extractor, *words: str) -> Result:
    asked = ["--model", "small", "--price", "1:2", "--base-url", provider.url, "--graph", str(graph)]
    return CliRunner().invoke(main, ["wiki", "extract", *asked, *words], env={"COLUMNS": "120"})


def extracted(graph: Path, provider: Extractor, *words: str) -> dict[str, Any]:
    told = run(graph, provider, "--yes", "--max-cost", "1", "--json", *words)
    assert told.exit_code == 0, told.output
    answer: dict[str, Any] = json.loads(told.stdout)
    return answer


def change(graph: Path, change: Callable[[Graph], None]) -> None:
    with open_graph_writer(graph, model_id=MODEL.model_id, dimension=MODEL.dimension) as writer:
        change(writer)


def spent() -> tuple[int, int]:
    """What all lineages of the database have spent and reserved."""

    async def read() -> tuple[int, int]:
        async with App().client("wiki.db", create=False) as client:
            lineages = await client.lineages()
            return sum(one.spent for one in lineages), sum(one.reserved for one in lineages)

    return asyncio.run(read())


def entities(graph: Path) -> dict[str, str]:
    with open_graph_reader(graph) as reader:
        return {one.name: one.article_key for one in reader.entities()}


def test_every_section_is_asked_once_and_what_was_billed_is_booked(graph: Path, provider: Extractor) -> None:
    told = extracted(graph, provider)
    assert {name: told[name] for name in ("sections", "refused", "not_asked")} == {
        "sections": 3, "refused": 0, "not_asked": 0,
    }  # fmt: skip
    assert sorted(provider.asked.values()) == [1, 1, 1]
    assert told["cost"] == provider.billed(IN, OUT) > 0
    assert spent() == (told["cost"], 0)
    found = entities(graph)
    assert found["Alan Turing"] == "Alan Turing", "by its redirect, too"
    assert found["Bletchley Park"] == "Bletchley Park"
    assert found["Joan Clarke"] == ""
    assert "Turing" not in found


def test_the_same_text_is_never_paid_twice(graph: Path, provider: Extractor) -> None:
    extracted(graph, provider)
    paid = provider.billed(IN, OUT)
    assert extracted(graph, provider)["cost"] == 0
    load_again = {
        **TEXTS,
        "Bletchley Park": TEXTS["Bletchley Park"] + "\n== Today ==\nToday it is a museum, led by Iain Standen.",
    }
    change(graph, lambda writer: load(writer, load_again))
    assert "Joan Clarke" not in entities(graph), "sections that were loaded again were not extracted yet"
    told = extracted(graph, provider)
    assert sum(provider.asked.values()) == 4, "one section is new"
    assert told["cost"] == provider.billed(IN, OUT) - paid > 0
    assert {"Joan Clarke", "Iain Standen"} <= entities(graph).keys()


def test_an_article_that_is_excluded_leaves_no_entity(graph: Path, provider: Extractor) -> None:
    extracted(graph, provider)
    change(graph, lambda writer: writer.exclude_articles(["Alan Turing"]))
    with open_graph_reader(graph) as reader:
        lines = [line for line in reader.dump() if line.startswith(("Mention", "RELATES"))]
        assert lines
        assert all('"Bletchley Park"' in line for line in lines)
        names = {one.entity_key for one in reader.entities()}
        assert {key for one in reader.relations() for key in one[:2]} <= names
        assert reader.counts().entities == len(names)


def test_entities_are_nodes_of_exports_and_cypher_and_are_shown_by_name(graph: Path, provider: Extractor) -> None:
    extracted(graph, provider)
    cli = CliRunner()
    exported = cli.invoke(main, ["wiki", "export", "jsonl", "--out", "-", "--graph", str(graph)])
    lines = [json.loads(line) for line in exported.stdout.splitlines()]
    nodes = {line["node"]: line for line in lines if "node" in line}
    edges = [line for line in lines if line.get("edge") in ("MENTIONS", "RELATES")]
    assert nodes["Entity:alan turing"]["kind"] == "person"
    assert all(edge["source"] in nodes and edge["target"] in nodes for edge in edges)
    told = cli.invoke(main, ["wiki", "entities", "turing", "--graph", str(graph), "--json"])
    shown = json.loads(told.stdout)
    assert (shown["name"], shown["sections"]) == ("Alan Turing", ["Alan Turing", "Bletchley Park"])
    assert {
        "source": "Alan Turing", "kind": "is before", "target": "Joan Clarke", "section": "Alan Turing",
    } in shown["relations"]  # fmt: skip
    [asked_in_python] = open_graph(graph).entities("joan  CLARKE")
    assert (asked_in_python.name, asked_in_python.sections) == ("Joan Clarke", (("Alan Turing", 0),))
    assert "Joan Clarke" in cli.invoke(main, ["wiki", "entities", "clarke", "--graph", str(graph)]).stdout
    pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
    query = "MATCH (:Entity {name: 'Alan Turing'})-[r:RELATES]->(b:Entity) RETURN b.name, r.kind, r.section"
    asked = cli.invoke(main, ["wiki", "query", query, "--graph", str(graph), "--json"])
    rows = [json.loads(line) for line in asked.stdout.splitlines()]
    assert {"b.name": "Joan Clarke", "r.kind": "is before", "r.section": "Alan Turing#0"} in rows


def test_an_article_is_read_once_however_many_relations_its_sections_state(
    graph: Path, provider: Extractor, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"Person{letter}" for letter in "ABCDEFGH"]
    change(graph, lambda writer: load(writer, {"Party": f"At the party were {', '.join(names)} and Alan Turing."}))
    extracted(graph, provider)
    read: list[str] = []

    def counted(sections: Callable[[Any, str], list[GraphSection]]) -> Callable[[Any, str], list[GraphSection]]:
        def noted(self: Any, title_key: str) -> list[GraphSection]:
            read.append(title_key)
            return sections(self, title_key)

        return noted

    monkeypatch.setattr(LadybugReading, "sections", counted(LadybugReading.sections))
    monkeypatch.setattr(SqliteReading, "sections", counted(SqliteReading.sections))
    told = CliRunner().invoke(main, ["wiki", "entities", "Person", "--graph", str(graph), "--json"])
    assert told.exit_code == 0, told.output
    shown = [json.loads(line) for line in told.stdout.splitlines()]
    assert [one["name"] for one in shown] == names
    assert sum(len(one["relations"]) for one in shown) > len(names)
    assert {one["section"] for found in shown for one in found["relations"]} == {"Party"}
    assert read == ["Party"]


def test_a_graph_without_entities_and_a_name_that_is_none_are_refused(graph: Path, provider: Extractor) -> None:
    words = ["wiki", "entities", "Nobody", "--graph", str(graph)]
    assert "`ramet wiki extract` first" in CliRunner().invoke(main, words).stderr
    extracted(graph, provider)
    refused = CliRunner().invoke(main, words)
    assert (refused.exit_code, refused.stdout, refused.stderr) == (2, "", "ramet: no entity is called 'Nobody'\n")


def test_nothing_is_asked_without_a_ceiling_or_a_yes(graph: Path, provider: Extractor) -> None:
    no_ceiling = run(graph, provider, "--yes")
    assert (no_ceiling.exit_code, no_ceiling.stdout) == (2, "")
    assert "3 sections for small: about $0.00" in no_ceiling.stderr
    assert "say with --max-cost" in no_ceiling.stderr
    assert "is too low: one section reserves up to" in run(graph, provider, "--yes", "--max-cost", "0.000001").stderr
    assert "nothing was asked" in run(graph, provider, "--max-cost", "1").stderr
    assert "is writing to" in busy(graph, provider)
    assert provider.asked == {}
    assert spent() == (0, 0)


def busy(graph: Path, provider: Extractor) -> str:
    with open_graph_writer(graph, model_id=MODEL.model_id, dimension=MODEL.dimension):
        return run(graph, provider, "--yes", "--max-cost", "1").stderr


def test_a_ceiling_is_never_passed_and_the_next_command_goes_on(graph: Path, provider: Extractor) -> None:
    refused = run(graph, provider, "--yes", "--max-cost", "0.000001").stderr
    one = refused.partition("reserves up to $")[2].strip()
    told = run(graph, provider, "--yes", "--max-cost", one, "--concurrency", "1", "--json")
    first = json.loads(told.stdout)
    assert told.exit_code == 1
    assert first["not_asked"] == 3 - first["sections"] > 0
    assert first["cost"] == provider.billed(IN, OUT) <= float(one) * 10**9
    assert extracted(graph, provider)["sections"] == 3
    assert sorted(provider.asked.values()) == [1, 1, 1]
    assert spent() == (provider.billed(IN, OUT), 0)


HOSTILE = {
    "a name holds a control character": {"name": "Al\x1b[31man", "kind": "person", "aliases": []},
    "more than 200 characters": {"name": "x" * 201, "kind": "person", "aliases": []},
    "more than 10 aliases": {"name": "x", "kind": "person", "aliases": ["a"] * 11},
    "a name is empty": {"name": " ", "kind": "person", "aliases": []},
    "kind": {"name": "x", "kind": "'}) DETACH DELETE n //", "aliases": []},
}


@pytest.mark.parametrize("reason", [*HOSTILE, "at most 60 entities", "JSON"])
def test_hostile_answers_are_refused_with_a_reason_and_not_asked_again(reason: str, tmp_path: Path) -> None:
    path = tmp_path / "graph.sqlite"
    with open_graph_writer(path, model_id=MODEL.model_id, dimension=MODEL.dimension) as writer:
        load(writer, {"Lamp": TEXTS["Bletchley Park"]})
    many = [{"name": f"x{number}", "kind": "other", "aliases": []} for number in range(61)]
    listed = [HOSTILE[reason]] if reason in HOSTILE else many
    text = "no list {" if reason == "JSON" else json.dumps({"entities": listed, "relations": []})
    database = ["--db", str(tmp_path / "wiki.db")]
    with extractor(lambda _: text) as provider:
        told = run(path, provider, "--yes", "--max-cost", "1", *database)
        assert told.exit_code == 0, told.output
        assert "no answer that can be used for Lamp: " in told.stderr
        assert reason in told.stderr
        assert "\x1b" not in told.output
        assert "0 entities and 0 relations" in told.stdout
        assert sum(provider.asked.values()) == 2, "it was asked once more, with the error"
        assert json.loads(run(path, provider, "--json", *database).stdout)["refused"] == 1
        assert sum(provider.asked.values()) == 2


def test_words_of_a_query_language_stay_names(graph: Path) -> None:
    name = "x'}) DETACH DELETE (n); DROP TABLE articles; --"

    def answer(text: str) -> str:
        found = json.loads(names_in(text))
        found["entities"].append({"name": name, "kind": "other", "aliases": [f"{name} 2"]})
        return json.dumps(found)

    with extractor(answer) as provider:
        extracted(graph, provider)
    assert name in entities(graph)
    with open_graph_reader(graph) as reader:
        assert reader.counts().articles == 2


def test_a_stopped_extraction_is_gone_on_with_under_the_ceiling_that_it_began_with(
    graph: Path, provider: Extractor, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("ramet.wiki.commands.entities.run_watched", lambda worker, look, _: close(look))
        assert run(graph, provider, "--yes", "--max-cost", "1").exit_code == 128 + signal.SIGINT
    assert provider.asked == {}
    told = run(graph, provider)
    assert told.exit_code == 0, told.output
    assert "under the ceiling that it began with" in told.stderr
    assert sorted(provider.asked.values()) == [1, 1, 1]


async def close(look: Coroutine[Any, Any, object]) -> int:
    """A signal came before anything was asked."""
    look.close()
    return signal.SIGINT
