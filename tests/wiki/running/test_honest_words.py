"""What a run says of itself: alerts only for what is wrong, reasons in a wiki's words, failed titles by name."""

from __future__ import annotations

import asyncio
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from ramet import Alert
from ramet.cli import main
from ramet.wiki.commands.terminal import JsonView, LineView, meanings_of_blocks, show_status, summary
from ramet.wiki.errors import SourceError
from ramet.wiki.runs import find_run
from ramet.wiki.sources.registry import open_source
from ramet.wiki.status import PausedHost, status_of
from ramet.wiki.tasks import level
from ramet.wiki.tasks.article import app
from tests.wiki.made_up_wikis import expand_in_process, settings_for

pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")

HUBS = [f"Hub {number}" for number in range(4)]
LEAVES = [f"Leaf {number:02}" for number in range(40)]


def write_hubs(path: Path) -> Path:
    """Write pages of which all link to the hubs, and the hubs to all."""
    pages = [{"title": hub, "text": "A hub.", "links": [*HUBS, *LEAVES]} for hub in HUBS]
    pages += [{"title": leaf, "text": "A leaf.", "links": [*HUBS, f"{leaf} gone"]} for leaf in LEAVES]
    pages += [{"title": f"{leaf} gone", "redirect": "Nowhere"} for leaf in LEAVES]
    path.write_text("\n".join(map(json.dumps, pages)), encoding="utf-8")
    return path


def run(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--db", str(folder / "wiki.db")], env={"COLUMNS": "120"})


async def expand_hubs(folder: Path, articles: int) -> str:
    settings = settings_for(folder, write_hubs(folder / "hubs.jsonl"), max_articles=articles, graph="wiki.sqlite")
    return await expand_in_process(folder, settings, seeds=HUBS[:1])


async def test_many_links_to_one_article_and_a_run_sized_to_the_title_are_no_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(level, "OFFERS_PER_ROUND_MAX", 3)
    alerts: list[Alert] = []
    draw = level._draw

    async def drawn(ctx: Any, *arguments: Any, **options: Any) -> int:
        async with app.client(tmp_path / "wiki.db") as client:
            alerts.extend(await client.check_alerts())
        return await draw(ctx, *arguments, **options)

    monkeypatch.setattr(level, "_draw", drawn)
    run_id = await expand_hubs(tmp_path, 30)
    async with app.client(tmp_path / "wiki.db") as client:
        lineage = await client.lineage(run_id)
        demands = await client.block_totals(run_id)
    assert lineage is not None
    assert lineage.tasks == lineage.max_tasks, "sized to just that"
    assert sum(demands.values()) > 100
    assert alerts == []


async def test_a_refused_link_that_no_row_names_is_told_with_its_reason_and_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ramet.store.rows.blocks._most_rows", lambda lineage: 5)
    run_id = await expand_hubs(tmp_path, 6)
    shown = await asyncio.to_thread(run, tmp_path, "explain", "wiki.article.fetch", "Leaf 39")
    assert shown.exit_code == 0, shown.output
    assert "if it was wanted, it is among those below" in " ".join(shown.output.split())
    assert re.search(r"budget +max_tasks \d+ +wiki.article.fetch +wiki.level level-0", shown.output), shown.output
    shown = await asyncio.to_thread(run, tmp_path, "blocks", run_id, "--blocked-by", "budget", "--key", "Leaf 39")
    assert re.search(r"budget +max_tasks \d+ +wiki.article.fetch +wiki.level level-0", shown.output), shown.output


async def test_reasons_are_told_in_a_wikis_words(tmp_path: Path) -> None:
    await expand_hubs(tmp_path, 6)
    async with app.client(tmp_path / "wiki.db") as client:
        status = await status_of(client, await find_run(client))
    out = Console(file=io.StringIO(), width=100)
    out.print(show_status(status, None, None))
    shown = out.file.getvalue()  # type: ignore[attr-defined]
    assert "links not followed, by reason" in shown
    assert "the run may load 6 articles (--max-articles)" in shown
    assert set(status.blocks) <= set(meanings_of_blocks(status.run.settings))


async def test_failed_titles_are_listed_by_page_with_their_reasons(tmp_path: Path) -> None:
    await expand_hubs(tmp_path, 100)
    pages: list[list[dict[str, Any]]] = []
    after: tuple[str, ...] = ()
    while page := (await asyncio.to_thread(run, tmp_path, "wiki", "status", "--failed", "--limit", "15", "--json",
                                           *after)).output.splitlines():  # fmt: skip
        pages.append([json.loads(line) for line in page])
        after = ("--after", pages[-1][-1]["title"])
    assert [len(page) for page in pages] == [15, 15, 10]
    told = [one for page in pages for one in page]
    assert [one["title"] for one in told] == [f"{leaf} gone" for leaf in LEAVES]
    assert {(one["reason"], one["expansion_depth"]) for one in told} == {("not_found", 2)}
    assert "Nowhere" in told[0]["detail"]
    shown = (await asyncio.to_thread(run, tmp_path, "wiki", "status", "--failed", "--limit", "2")).output
    assert "Leaf 00 gone" in shown
    assert "... and 38 more titles: --after 'Leaf 01 gone'" in shown
    none = await asyncio.to_thread(run, tmp_path, "wiki", "status", "--failed", "--after", "Zz")
    assert "no title failed after that one" in none.output
    wrong = await asyncio.to_thread(run, tmp_path, "wiki", "status", "--failed", "--watch")
    assert (wrong.exit_code, "without --watch" in wrong.output) == (2, True)


async def test_progress_says_what_it_waits_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await expand_hubs(tmp_path, 6)
    async with app.client(tmp_path / "wiki.db") as client:
        calm = await status_of(client, await find_run(client), now=1_000.0)
    assert summary(replace(calm, waiting={"there is no file 'x'": 3})).endswith(
        "waiting: there is no file 'x' (3 titles)"
    )
    view = LineView()
    view.look(calm)
    view.look(replace(calm, paused=(PausedHost("host:wiki.example", 2e9, "429 Too Many Requests"),)))
    assert capsys.readouterr().out.count("\n") == 1, "no oftener than a log can bear"
    view = LineView()
    view.look(replace(calm, paused=(PausedHost("host:wiki.example", 2e9, "429 Too Many Requests"),)))
    assert "host:wiki.example is not asked for another" in capsys.readouterr().out
    machine = JsonView()
    for status in (calm, calm, replace(calm, waiting={"there is no file 'x'": 3}), calm):
        machine.look(status)
    told = [json.loads(line)["waiting"] for line in capsys.readouterr().out.splitlines()]
    assert told == [{}, {"there is no file 'x'": 3}, {}]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("missing.xml", None, ["there is no file", "a dump (.xml", "(.jsonl)", "https://", "vital-articles"]),
        ("prose.xml", "It was a dark night.", ["is not a source", "<mediawiki ...>", '{"title": "..."']),
        ("prose.txt", "It was a dark night.", ["is not a source"]),
        ("prose.jsonl", "It was a dark night.", ["line 1: not JSON"]),
    ],
)
def test_a_file_that_is_no_source_is_told_what_one_is(
    tmp_path: Path, name: str, text: str | None, said: list[str]
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError) as caught:
        open_source(str(path), tmp_path / "data")
    assert all(word in str(caught.value) for word in said), str(caught.value)
    assert "wheel" not in str(caught.value)
