"""What a person does to titles: failed ones are tried again and end as if they had never failed, others stay out."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ramet import App, Task, TaskHistory, TaskState
from ramet.cli import main
from ramet.wiki.embedding.registry import model_of
from ramet.wiki.graphs.registry import open_graph_writer
from ramet.wiki.pipeline import app
from ramet.wiki.runs import find_run
from ramet.wiki.tasks.refresh import begin_refresh
from tests.wiki.made_up_wikis import graph_of

pytestmark = pytest.mark.process

pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")

PAGES: dict[str, dict[str, Any]] = {
    "Hub": {"text": "The hub.", "links": ["Bridge", "Late", "Other way"]},
    "Bridge": {"text": "Leads on.", "links": ["Hub", "Late"]},
    "Other way": {"redirect": "Late"},
    "Late": {"redirect": "Nothing"},
}
LATE = {"Late": {"text": "Comes late.", "links": ["Far", "Hub"]}, "Far": {"text": "Far away.", "links": []}}


HASHING = model_of("hashing")
assert HASHING is not None
MODEL, DIMENSION = HASHING


class Place:
    """A folder with a world and a run."""

    def __init__(self, folder: Path, pages: dict[str, dict[str, Any]]) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.write(pages)

    def write(self, pages: dict[str, dict[str, Any]]) -> None:
        lines = [json.dumps({"title": title, **page}) for title, page in pages.items()]
        (self.folder / "world.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(main, ["wiki", *words, "--db", str(self.folder / "wiki.db")])

    def expand(self, *words: str) -> dict[str, Any]:
        where = ("--source", str(self.folder / "world.jsonl"), "--graph", str(self.folder / "wiki.lbug"))
        return last(self.run("expand", "Hub", *where, "--embed", "hashing", "--json", *words))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "here", PAGES)


def last(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    told: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return told


def counts(told: dict[str, Any]) -> dict[str, int]:
    return {state: count for state, count in told["states"].items() if count}


def test_failed_titles_that_are_tried_again_end_in_the_graph_that_they_would_have_led_to_at_once(
    place: Place, tmp_path: Path
) -> None:
    assert counts(place.expand()) == {"processed": 2, "failed": 2}
    place.write(PAGES | LATE)
    again = last(place.run("retry", "--failed-for", "not_found", "--reason", "it is there now", "--json"))
    assert counts(again) == {"processed": 4, "alias": 1}
    assert [one["sort"] for one in again["passes"]] == ["expand", "retry"]
    fresh = Place(tmp_path / "fresh", PAGES | LATE)
    assert counts(fresh.expand()) == counts(again)
    assert graph_of(place.folder) == graph_of(fresh.folder)


def test_what_the_source_said_no_to_is_tried_only_when_it_is_named(place: Place) -> None:
    place.expand()
    nothing = place.run("retry")
    assert (nothing.exit_code, "no failed title is left to try" in nothing.output) == (0, True)
    place.write(PAGES | LATE)
    assert counts(last(place.run("retry", "late", "--json"))) == {"processed": 4, "failed": 1}


def test_an_excluded_title_is_never_looked_up_again_until_a_person_wants_it_back(place: Place) -> None:
    run = place.expand()["run"]
    told = last(place.run("exclude", run, "Late", "Other way", "--reason", "not for us", "--json"))
    assert told == {"excluded": ["Late", "Other way"], "left": {}, "drawn": True}
    assert not any("Late" in line or "Other way" in line for line in graph_of(place.folder))
    place.write(PAGES | LATE)
    assert counts(place.expand("--max-articles", "90")) == {"processed": 2, "excluded": 2}
    assert counts(last(place.run("refresh", "--json"))) == {"processed": 2, "excluded": 2}
    assert not any("Late" in line for line in graph_of(place.folder))
    assert counts(last(place.run("retry", "Late", "--json"))) == {"processed": 4, "excluded": 1}
    assert 'LINKS_TO ["Bridge", "Late"]' in graph_of(place.folder)


def test_a_loaded_article_that_is_excluded_leaves_no_trace_until_it_is_wanted_back(
    place: Place, tmp_path: Path
) -> None:
    place.write(PAGES | LATE)
    place.expand()
    before = graph_of(place.folder)
    told = last(place.run("exclude", "late", "--reason", "not for us", "--json"))
    assert told == {"excluded": ["Late"], "left": {}, "drawn": True}
    assert not any("Late" in line or "Other way" in line for line in graph_of(place.folder))
    assert counts(place.expand("--max-articles", "90")) == {"processed": 3, "excluded": 1, "alias": 1}
    assert not any("Late" in line or "Other way" in line for line in graph_of(place.folder))
    assert counts(last(place.run("retry", "Late", "--json"))) == {"processed": 4, "alias": 1}
    assert graph_of(place.folder) == before


def test_what_is_excluded_beside_the_writer_of_the_graph_is_out_of_it_after_the_next_pass(place: Place) -> None:
    place.write(PAGES | LATE)
    place.expand()
    with open_graph_writer(place.folder / "wiki.lbug", model_id=MODEL, dimension=DIMENSION):
        told = last(place.run("exclude", "Late", "--json"))
    assert told == {"excluded": ["Late"], "left": {}, "drawn": False}
    assert any("Late" in line for line in graph_of(place.folder))
    assert counts(place.expand()) == {"processed": 3, "excluded": 1, "alias": 1}
    assert not any("Late" in line for line in graph_of(place.folder))


def test_a_redirect_to_an_excluded_title_does_not_bring_it_back(place: Place) -> None:
    place.expand()
    last(place.run("exclude", "Late", "--json"))
    place.write(PAGES | LATE)
    assert counts(last(place.run("retry", "Other way", "--json"))) == {"processed": 2, "excluded": 1, "alias": 1}


async def recorded(place: Place, run: str, key: str) -> tuple[Task, TaskHistory, list[tuple[Any, ...]]]:
    async with App().client(place.folder / "wiki.db") as client:
        [task] = (await client.tasks(tracking_id=run, key=key)).tasks
        history = await client.history(task.id)
        assert history is not None
        return task, history, await client.read("SELECT error FROM wiki_articles WHERE title_key = ?", (key,))


def test_who_excluded_what_and_why_is_recorded(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "ada")
    run = place.expand()["run"]
    last(place.run("exclude", "Late", "--reason", "not for us", "--json"))
    task, history, rows = asyncio.run(recorded(place, run, "Late"))
    assert (task.state, task.reason) == (TaskState.SKIPPED, "excluded: not for us")
    assert "ada" in str(history.transitions)
    assert "not for us" in str(history.transitions)
    assert rows == [("excluded by ada: not for us",)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("retry", "Nothing"), "has no title 'Nothing'"),
        (("exclude", "Nothing"), "has no title 'Nothing'"),
        (("retry", "Hub"), "'Hub' is processed"),
        (("exclude", "Other way"), "Other way: it redirects: exclude the article that it leads to"),
    ],
)
def test_a_title_that_cannot_be_meant_is_one_line(place: Place, words: tuple[str, ...], said: str) -> None:
    place.write(PAGES | LATE)
    place.expand()
    result = place.run(*words)
    assert result.exit_code == 2
    [line] = result.stderr.splitlines()
    assert line.startswith("ramet: ")
    assert said in line


async def begin_a_refresh(place: Place) -> None:
    async with app.client(place.folder / "wiki.db") as client:
        assert await begin_refresh(client, await find_run(client))


@pytest.mark.parametrize("command", ["refresh", "expand"])
def test_a_refresh_that_was_left_half_done_is_finished_and_no_other_begun(place: Place, command: str) -> None:
    place.expand()
    asyncio.run(begin_a_refresh(place))
    place.write(PAGES | {"Bridge": {"text": "Rebuilt."}})
    told = last(place.run("refresh", "--json")) if command == "refresh" else place.expand()
    assert [(one["sort"], one["state"]) for one in told["passes"]] == [("expand", "finished"), ("refresh", "finished")]
    assert any(line.startswith("Section") and "Rebuilt." in line for line in graph_of(place.folder))
