"""A newer file of the same wiki: `refresh --source` leads a run to it, under the name that it has."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ramet.cli import main
from ramet.wiki.runs import find_run
from ramet.wiki.tasks.article import app
from ramet.wiki.tasks.refresh import begin_refresh, with_source
from tests.wiki.made_up_wikis import graph_of
from tests.wiki.sources.export_files import HEAD, export, page
from tests.wiki.test_refresh import AFTERWARDS, PAGES, SEEDS, write

pytestmark = pytest.mark.process

pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")


def run(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["wiki", *words, "--db", str(folder / "wiki.db")])


def expand(folder: Path, source: Path, *words: str) -> Result:
    seeds = (*SEEDS, "--source", str(source), "--graph", str(folder / "wiki.sqlite"), "--embed", "hashing")
    return run(folder, "expand", *seeds, *words)


def events(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def refused(result: Result) -> str:
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    return result.stderr.splitlines()[-1]


def statuses(folder: Path) -> dict[str, Any]:
    [told] = events(run(folder, "status", "--json"))
    return told


def test_a_run_goes_on_with_a_newer_file_and_ends_as_a_fresh_one_of_that_file(tmp_path: Path) -> None:
    first, second = write(tmp_path / "may.jsonl", PAGES), write(tmp_path / "june.jsonl", AFTERWARDS)
    began = events(expand(tmp_path, first, "--json"))[-1]
    told = run(tmp_path, "refresh", "--source", str(second))
    assert "compared 6 articles: 1 loaded again, 1 gone, 1 new redirect" in told.output
    assert f"--source {second}" in " ".join(told.output.split()) or statuses(tmp_path)["source"] == str(second)
    first.unlink()
    went_on = events(expand(tmp_path, second, "--json"))[-1]
    assert (went_on["run"], went_on["source"]) == (began["run"], str(second))
    assert [one["sort"] for one in went_on["passes"]] == ["expand", "refresh", "continue"]
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    other = events(expand(fresh, second, "--json"))[-1]
    assert other["run"] != began["run"]
    assert graph_of(tmp_path) == graph_of(fresh)
    again = expand(tmp_path, second)
    assert "nothing left to do" in again.output


def test_the_command_with_the_former_file_is_told_which_one_the_run_reads(tmp_path: Path) -> None:
    first, second = write(tmp_path / "may.jsonl", PAGES), write(tmp_path / "june.jsonl", AFTERWARDS)
    events(expand(tmp_path, first, "--json"))
    assert run(tmp_path, "refresh", "--source", str(second)).exit_code == 0
    before = statuses(tmp_path)
    assert f"reads {second} since a refresh: give that as --source" in refused(expand(tmp_path, first))
    assert statuses(tmp_path) == before


async def begin(folder: Path, source: Path) -> None:
    """Begin the newest run's refresh with this file, as a process does that is killed right afterwards."""
    async with app.client(folder / "wiki.db") as client:
        run_now = await find_run(client)
        assert await begin_refresh(client, run_now, await with_source(client, run_now, str(source)))


def test_what_was_interrupted_goes_on_and_another_file_comes_after_it(tmp_path: Path) -> None:
    first, second = write(tmp_path / "may.jsonl", PAGES), write(tmp_path / "june.jsonl", AFTERWARDS)
    third = write(tmp_path / "july.jsonl", PAGES)
    events(expand(tmp_path, first, "--json"))
    asyncio.run(begin(tmp_path, second))
    assert "1 loaded again, 1 gone" in run(tmp_path, "refresh", "--source", str(second)).output
    assert [one["sort"] for one in statuses(tmp_path)["passes"]] == ["expand", "refresh"], "the same one"
    asyncio.run(begin(tmp_path, first))
    assert run(tmp_path, "refresh", "--source", str(third)).exit_code == 0
    told = statuses(tmp_path)
    assert [one["state"] for one in told["passes"]] == ["finished"] * 4
    assert (told["source"], told["state"]) == (str(third), "finished")


def dump_of(path: Path, *, site: str = "Insulae", base: str = "https://isles.example/wiki/Hub") -> Path:
    head = HEAD.replace(HEAD[HEAD.index("<sitename>") : HEAD.index("</sitename>")], f"<sitename>{site}")
    head = head.replace(head[head.index("<base>") : head.index("</base>")], f"<base>{base}")
    return export(path, [page("Hub", "A hub. [[Other]]"), page("Other", "Another.")], head=head)


def test_another_wiki_and_what_is_no_file_are_refused(tmp_path: Path) -> None:
    first = dump_of(tmp_path / "isles-1.xml")
    events(expand(tmp_path, first, "--json"))
    before = statuses(tmp_path)
    for name, more in {"site": {"site": "Montes"}, "base": {"base": "https://hills.example/wiki/Hub"}}.items():
        other = dump_of(tmp_path / f"{name}.xml", **more)
        assert "is of another wiki" in refused(run(tmp_path, "refresh", "--source", str(other)))
    plain = write(tmp_path / "plain.jsonl", AFTERWARDS)
    assert "is of another wiki" in refused(run(tmp_path, "refresh", "--source", str(plain)))
    assert "is not a file" in refused(run(tmp_path, "refresh", "--source", "https://isles.example/w/api.php"))
    assert "there is no file" in refused(run(tmp_path, "refresh", "--source", str(tmp_path / "none.xml")))
    assert statuses(tmp_path) == before
    second = dump_of(tmp_path / "isles-2.xml")
    assert "0 loaded again, 0 gone" in run(tmp_path, "refresh", "--source", str(second)).output
    assert statuses(tmp_path)["source"] == str(second)


@pytest.mark.parametrize("articles", [6, 5])
def test_what_the_cap_refuses_of_changed_articles_is_offered_by_expand(tmp_path: Path, articles: int) -> None:
    source = write(tmp_path / "world.jsonl", PAGES)
    cap = ("--max-articles", str(articles), "--json")
    assert events(expand(tmp_path, source, *cap))[-1]["articles"] == articles
    changed = PAGES | {"Changes": AFTERWARDS["Changes"], "Newcomer": AFTERWARDS["Newcomer"]}
    write(source, changed)
    assert run(tmp_path, "refresh").exit_code == 0
    before = statuses(tmp_path)["blocks"].get("budget", 0)
    offered = events(expand(tmp_path, source, *cap))[-1]
    assert (offered["articles"], offered["blocks"]["budget"]) == (articles, before + 7 - articles)
    assert events(expand(tmp_path, source, *cap))[-1]["passes"] == offered["passes"], "offered once"
    assert "Newcomer" in run(tmp_path, "query", "MATCH (a:Article) WHERE NOT a.loaded RETURN a.title").output
