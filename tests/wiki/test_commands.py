"""The commands: what they print, for people and for machines, and one clear line for what a user got wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ramet.cli import main
from ramet.wiki import expansion
from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.graphs.graph_file import lock_alone
from ramet.wiki.graphs.ladybug import LadybugGraph
from tests.wiki.made_up_wikis import SEEDS, write_world

pytestmark = pytest.mark.process

pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
pytest.importorskip("ahocorasick", reason="the extra [wiki] is not installed")

HASHING = HashingEmbedder()
MARKUP = "Evil [red]town[/red]"


class Place:
    """A folder to run commands in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database, self.graph = folder / "wiki.db", folder / "wiki.lbug"

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(main, ["wiki", *words, "--db", str(self.database)])

    def expand(self, *words: str, world: Path, graph: Path | None = None) -> Result:
        quick = ("--max-articles", "20", "--max-depth", "2", "--embed", "hashing")
        return self.run("expand", "--source", str(world), "--graph", str(graph or self.graph), *quick, *words)

    def left(self) -> set[str]:
        """Files of a run, without the empty ones that locks are made of."""
        return {path.name for path in self.folder.rglob("*") if path.is_file() and path.suffix in (".db", ".lbug")}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def world(tmp_path: Path) -> Path:
    return write_world(tmp_path / "world.jsonl", articles=40)


@pytest.fixture(scope="module")
def expanded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, Path, str]:
    """A folder with a finished run, its world, and what the expansion printed."""
    folder = tmp_path_factory.mktemp("expanded")
    world = write_world(folder / "world.jsonl", articles=40)
    with world.open("a", encoding="utf-8") as lines:
        lines.write("\n" + json.dumps({"title": "Place 001b", "text": "A suburb.", "links": [MARKUP]}))
        lines.write("\n" + json.dumps({"title": MARKUP, "text": "An \x1b[31mevil\x07 \u202etown.", "links": []}))
    place = Place(folder)
    result = place.expand(*SEEDS, "Place 001b", world=world)
    assert result.exit_code == 0, result.output
    return place, world, result.output


def lines_of(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def refusal(result: Result) -> str:
    """The one line of a command that was refused."""
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    [line] = result.stderr.splitlines()
    assert line.startswith("ramet: ")
    return line


# --- good input -------------------------------------------------------------------------------------------------


def test_expand_ends_with_the_status(expanded: tuple[Place, Path, str]) -> None:
    _, _, output = expanded
    assert "finished · 20 articles of at most 20" in output
    assert "links not followed, by reason" in output
    assert "not_found" in output
    assert "ramet retry" not in output


def test_the_same_command_again_does_nothing_and_says_so(expanded: tuple[Place, Path, str]) -> None:
    place, world, _ = expanded
    again = place.expand("Place 001b", *SEEDS, world=world)
    assert again.exit_code == 0
    assert "nothing left to do" in again.output


def test_expand_tells_machines_in_json_lines(place: Place, world: Path) -> None:
    told = lines_of(place.expand(*SEEDS, "--json", world=world))
    assert [line["event"] for line in told][:: len(told) - 1] == ["begin", "end"]
    assert {line["event"] for line in told[1:-1]} <= {"progress"}
    assert told[-1]["states"]["processed"] == told[-1]["articles"] == 20
    assert told[-1]["state"] == "finished"


def test_status_shows_depths_and_reasons(expanded: tuple[Place, Path, str]) -> None:
    result = expanded[0].run("status")
    assert result.exit_code == 0
    for word in ("depth", "discovered", "claimed", "loaded", "processed", "failed", "done", "the graph holds"):
        assert word in result.output
    assert max(map(len, result.output.splitlines())) <= 100


def test_status_tells_machines_the_same(expanded: tuple[Place, Path, str]) -> None:
    [told] = lines_of(expanded[0].run("status", "--json"))
    assert told["states"]["processed"] == told["articles"] == 20
    assert sum(told["states"].values()) == told["titles"]
    assert told["graph_holds"]["articles"] == told["states"]["processed"]
    assert sum(states["processed"] for states in told["depths"].values()) == told["states"]["processed"]
    assert told["failures"]["not_found"] == told["states"]["failed"] > 0
    assert set(told["blocks"]) >= {"done", "budget"}


def test_watching_a_finished_run_ends(expanded: tuple[Place, Path, str]) -> None:
    assert expanded[0].run("status", "--watch").exit_code == 0
    assert lines_of(expanded[0].run("status", "--watch", "--json"))[-1]["state"] == "finished"


def test_search_finds_words_and_says_that_it_knows_no_meaning(expanded: tuple[Place, Path, str]) -> None:
    result = expanded[0].run("search", "Place 006 houses", "--limit", "2")
    assert result.exit_code == 0
    assert result.output.startswith("1. Place 006")
    assert "without a model" in result.output
    hits = lines_of(expanded[0].run("search", "Place 006 houses", "--limit", "2", "--json"))
    assert len(hits) == 2
    assert hits[0]["title"] == "Place 006"


def test_titles_cannot_steer_a_terminal(expanded: tuple[Place, Path, str]) -> None:
    result = expanded[0].run("search", "evil town", "--limit", "1")
    assert MARKUP in result.output
    assert r"An [31mevil \u202etown." in result.output
    assert not {"\x1b", "\x07", "\u202e"} & set(result.output)


def test_larger_limits_go_on_with_the_run_and_other_seeds_are_another(place: Place, world: Path) -> None:
    first = lines_of(place.expand(*SEEDS, "--json", "--max-depth", "0", world=world))[-1]
    second = lines_of(place.expand(*SEEDS, "--json", "--max-depth", "1", world=world))[-1]
    assert (first["run"], first["articles"]) == (second["run"], 2)
    assert second["articles"] > 2
    other = lines_of(place.expand(SEEDS[0], "--json", "--max-depth", "0", world=world))[-1]
    assert other["run"] != first["run"]
    assert "1 other run" in place.run("status").output
    assert lines_of(place.run("status", first["run"], "--json"))[0]["run"] == first["run"]


# --- bad input: one line, exit status 2, nothing left behind -----------------------------------------------------


def test_an_unknown_seed_is_refused_with_the_nearest_titles(place: Place, world: Path) -> None:
    line = refusal(place.expand("Place 000", "Plaice 01", world=world))
    assert "no article 'Plaice 01' in world.jsonl: did you mean 'Place 0" in line
    assert place.left() == set()


@pytest.mark.parametrize("source", ["https://en.wikipedia.org", "https://commons.wikimedia.org/w/api.php"])
def test_wikimedias_wikis_are_not_asked_without_a_contact_nor_looked_up(place: Place, source: str) -> None:
    line = refusal(place.run("expand", "Owl", "--source", source, "--graph", str(place.graph)))
    assert "asks its clients for a contact" in line
    assert place.left() == set()


def test_a_seed_is_found_without_regard_to_case_and_given_twice_it_is_one(place: Place, world: Path) -> None:
    result = place.expand("place 000", "Place_000", "--max-depth", "0", "--json", world=world)
    assert lines_of(result)[-1]["articles"] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "there is no file"), ("{}", "must be a text"), ("[", "not JSON"), ("", "holds no article")],
)
def test_a_file_that_is_no_source_is_refused(place: Place, text: str | None, said: str) -> None:
    path = place.folder / "mine.jsonl"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    line = refusal(place.expand("A", world=path))
    assert said in line
    assert str(path) in line
    assert place.left() == set()


def test_a_file_has_no_rendered_text(place: Place, world: Path) -> None:
    assert "a file has no rendered text" in refusal(place.expand(*SEEDS, "--text", "rendered", world=world))
    assert place.left() == set()


def test_more_seeds_than_articles_are_refused(place: Place, world: Path) -> None:
    assert "--max-articles 1" in refusal(place.expand(*SEEDS, "--max-articles", "1", world=world))
    assert place.left() == set()


def test_a_second_writer_is_refused(place: Place, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "ORPHAN_SECONDS", 0.0)
    with LadybugGraph.open_writer(place.graph, model_id=HASHING.model_id, dimension=HASHING.dimension):
        line = refusal(place.expand(*SEEDS, world=world))
    assert f"process {os.getpid()} is writing to {place.graph}" in line
    assert place.left() == {"wiki.lbug"}


def test_a_second_expansion_is_refused_before_the_first_has_opened_its_graph(place: Place, world: Path) -> None:
    lock = lock_alone(place.graph, "expanding")
    try:
        assert f"process {os.getpid()} is writing" in refusal(place.expand(*SEEDS, world=world))
    finally:
        os.close(lock)
    assert place.left() == set()


def test_a_graph_of_another_model_is_refused(place: Place, world: Path) -> None:
    LadybugGraph.open_writer(place.graph, model_id="another", dimension=7).close()
    assert "vectors of another (7 numbers)" in refusal(place.expand(*SEEDS, world=world))
    assert place.left() == {"wiki.lbug"}


def test_a_file_that_is_no_graph_is_refused(place: Place, world: Path) -> None:
    place.graph.write_text("not a graph at all", encoding="utf-8")
    assert str(place.graph) in refusal(place.expand(*SEEDS, world=world))
    assert place.left() == {"wiki.lbug"}


def test_a_database_in_a_folder_that_does_not_exist_is_refused(place: Place, world: Path) -> None:
    place.database = place.folder / "nowhere" / "wiki.db"
    assert "does not exist" in refusal(place.expand(*SEEDS, world=world))
    assert place.left() == set()


@pytest.mark.parametrize("words", [("status",), ("status", "--watch"), ("search", "x")], ids=" ".join)
def test_without_a_database_there_is_one_line(place: Place, words: tuple[str, ...]) -> None:
    assert f"no database at {place.database}" in refusal(place.run(*words))
    assert place.left() == set()


def test_a_run_or_a_graph_that_does_not_exist_is_one_line(expanded: tuple[Place, Path, str]) -> None:
    assert "no wiki run wiki-nothing" in refusal(expanded[0].run("status", "wiki-nothing"))
    line = refusal(expanded[0].run("search", "x", "--graph", str(expanded[0].folder / "none.lbug")))
    assert "there is no graph at" in line


def test_numbers_out_of_range_are_refused(place: Place, world: Path) -> None:
    assert "--max-articles" in refusal(place.expand("A", "--max-articles", "0", world=world))
    assert "--max-depth" in refusal(place.expand("A", "--max-depth", "-1", world=world))
