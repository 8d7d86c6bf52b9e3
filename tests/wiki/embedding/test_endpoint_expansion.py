"""A whole expansion on an endpoint that fails now and then, and searching with the model that it was made with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ramet.cli import main
from ramet.wiki.graphs.registry import graph_info
from tests.wiki.embedding.endpoint_servers import Answer, Call, Scripted, fault, scripted, usual
from tests.wiki.made_up_wikis import SEEDS, write_world

pytestmark = [pytest.mark.network, pytest.mark.process]

KEY = "sk-test-4f1"
ARTICLES = 20


def faulty() -> Callable[[Call], Answer]:
    """Every second call fails, each time in another way, until no way is left; the first, by the command, does not."""
    faults = iter([fault(500), fault(429, Retry_After="1"), Answer(None), fault(502)])
    calls = iter(range(1_000_000))
    return lambda call: (next(faults, None) if next(calls) % 2 else None) or usual(call)


@pytest.fixture
def endpoint() -> Iterator[Scripted]:
    for module in ("ahocorasick", "httpx2"):
        pytest.importorskip(module, reason="the extra [wiki] is not installed")
    with scripted(usual) as endpoint:
        yield endpoint


def run(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["wiki", *words, "--db", str(folder / "wiki.db"), "--json"])


def test_an_expansion_loses_no_article_to_an_endpoints_faults(
    endpoint: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAMET_EMBEDDING_KEY", KEY)
    world, graph = write_world(tmp_path / "world.jsonl", articles=40, holes=0), tmp_path / "graph.sqlite"
    endpoint.script = faulty()
    expansion = run(
        tmp_path, "expand", *SEEDS, "--source", str(world), "--graph", str(graph), "--embed",
        f"openai:m@{endpoint.url}", "--max-articles", str(ARTICLES),
    )  # fmt: skip
    assert expansion.exit_code == 0, expansion.output
    told = json.loads(expansion.stdout.splitlines()[-1])
    assert (told["state"], told["states"].get("failed", 0), told["states"]["processed"]) == ("finished", 0, ARTICLES)
    info = graph_info(graph)
    assert (info.model_id, info.dimension) == (f"openai:m@{endpoint.host}", 2)

    found = run(tmp_path, "search", "an island", "--limit", "3")
    assert found.exit_code == 0, found.output
    assert len(found.stdout.splitlines()) == 3
    assert endpoint.calls[-1].texts == ["an island"]

    assert KEY not in expansion.output + found.output
    assert [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


def test_a_graph_by_itself_does_not_choose_where_a_query_goes(endpoint: Scripted, tmp_path: Path) -> None:
    world, graph = write_world(tmp_path / "world.jsonl", articles=5), tmp_path / "graph.sqlite"
    spec = f"openai:m@{endpoint.url}"
    assert run(
        tmp_path, "expand", *SEEDS, "--source", str(world), "--graph", str(graph), "--embed", spec
    ).exit_code == 0  # fmt: skip
    calls = len(endpoint.calls)
    refused = run(tmp_path, "search", "an island", "--graph", str(graph))
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"holds vectors of openai:m@{endpoint.host}: name that model with --embed" in refused.stderr
    assert len(endpoint.calls) == calls
    named = run(tmp_path, "search", "an island", "--graph", str(graph), "--embed", spec)
    assert named.exit_code == 0, named.output
    mixed = run(tmp_path, "search", "an island", "--graph", str(graph), "--embed", "hashing")
    assert mixed.exit_code == 2
    assert "never mixed" in mixed.stderr


def test_an_endpoint_that_does_not_answer_stops_a_command_with_one_line(tmp_path: Path, endpoint: Scripted) -> None:
    world = write_world(tmp_path / "world.jsonl", articles=5)
    endpoint.script = lambda call: fault(401, "who are you?")
    refused = run(
        tmp_path, "expand", *SEEDS, "--source", str(world), "--graph", str(tmp_path / "graph.sqlite"), "--embed",
        f"openai:m@{endpoint.url}",
    )  # fmt: skip
    assert (refused.exit_code, refused.stdout) == (2, "")
    [line] = refused.stderr.splitlines()
    assert "refused the key (401): who are you?; set RAMET_EMBEDDING_KEY" in line
    assert not (tmp_path / "graph.sqlite").exists()
