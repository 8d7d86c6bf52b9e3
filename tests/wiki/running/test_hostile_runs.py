"""Whole expansions of what somebody made to do harm: the command ends, and every title with its reason."""

from __future__ import annotations

import asyncio
import bz2
import functools
import sqlite3
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.fetch.hostile_server import Hostile, Play, answers, bomb, sends_to
from tests.hostile.pages import fresh_word
from tests.support.waiting import HANG_SECONDS
from tests.wiki.fake_wiki import FakeWiki
from tests.wiki.sources.export_files import TAIL, export, page

pytestmark = [pytest.mark.network, pytest.mark.process]

for module in ("httpcore2", "ladybug"):
    pytest.importorskip(module, reason="the extra [wiki] is not installed")

VAST = "x" * 50_000_000
NESTED = "{{" * 20_000 + "[[" * 20_000 + " words " + "{|\n" * 5_000
SEED = "Begin with [[Vast]], [[Bomb]], [[Nested]], [[Nobody]] and [[End]]."


class Ended(NamedTuple):
    """A command that has ended: its exit status, and what it said on standard error."""

    code: int
    said: str


async def expand(folder: Path, source: str, seed: str, *options: str) -> Ended:
    """`ramet wiki expand` in a process of its own."""
    words = ["wiki", "expand", seed, "--source", source, "--no-embed", *options]
    where = ["--db", str(folder / "wiki.db"), "--graph", str(folder / "wiki.lbug"), "--data", str(folder / "data")]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "ramet.cli", *words, *where),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(HANG_SECONDS):
            _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode is not None
    return Ended(process.returncode, said.decode())


def states(folder: Path) -> dict[str, str]:
    """What became of each title: its state, or why it failed."""
    with closing(sqlite3.connect(folder / "wiki.db")) as database:
        found = database.execute("SELECT title_key, wiki_state, error FROM wiki_articles").fetchall()
    return {key: state if error is None else error.partition(":")[0] for key, state, error in found}


def check_refused(ended: Ended, folder: Path, complaint: str) -> None:
    """One line on standard error, and nothing was begun."""
    [line] = ended.said.splitlines()
    assert complaint in line
    assert ended.code == 2
    assert not (folder / "wiki.db").exists()
    assert not (folder / "wiki.lbug").exists()


@functools.cache
def unfolding() -> Play:
    """Few bytes that become many."""
    return answers(bomb(300), Content_Encoding="gzip")


class HarmfulWiki(FakeWiki):
    """One of its pages is fifty megabytes long, and one unfolds to three hundred."""

    def play(self, titles: list[str]) -> Play:
        if "Bomb" in titles:
            return unfolding()
        return super().play(titles)


async def test_a_wiki_that_means_harm_is_expanded_with_a_reason_for_every_title(tmp_path: Path) -> None:
    pages = {"Start": SEED, "Vast": VAST, "Nested": NESTED, "End": "The end.", "Bomb": ""}
    async with Hostile(HarmfulWiki(pages)) as server:
        ended = await expand(tmp_path, server.api, "Start")
    assert ended.code == 0, ended.said
    assert states(tmp_path) == {
        "Start": "processed",
        "Nested": "processed",
        "End": "processed",
        "Vast": "too_large",
        "Bomb": "too_large",
        "Nobody": "not_found",
    }


class EndlessWiki(FakeWiki):
    """It has every article that anybody asks for, and each links to three that nobody wrote, in several spellings."""

    def record(self, number: int, title: str) -> dict[str, Any]:
        names = [fresh_word(title, at) for at in range(3)]
        self.pages[title] = " ".join(
            f"[[{name}]] [[{name.capitalize()}]] [[{name}#Part|again]] [[_{name}_]]" for name in names
        )
        return super().record(number, title)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--max-articles", "15"), "budget"),
        pytest.param(("--max-depth", "2"), "depth", marks=pytest.mark.nightly),
    ],
)
async def test_a_wiki_that_has_every_article_is_expanded_to_its_bound(
    tmp_path: Path, options: tuple[str, str], reason: str
) -> None:
    async with Hostile(EndlessWiki({})) as server:
        ended = await expand(tmp_path, server.api, "Start", *options)
    assert ended.code == 0, ended.said
    found = states(tmp_path)
    assert set(found.values()) == {"processed"}
    assert len(found) == {"budget": 15, "depth": 1 + 3 + 9}[reason]
    assert len({title.casefold() for title in found}) == len(found)
    with closing(sqlite3.connect(tmp_path / "wiki.db")) as database:
        reasons = {reason for (reason,) in database.execute("SELECT DISTINCT reason FROM ramet_blocks")}
    assert reason in reasons


REFUSING: dict[str, tuple[Callable[[], Play], str]] = {
    "another type": (lambda: answers("<html>", Content_Type="text/html"), "api.php"),
    "sends to a metadata service": (lambda: sends_to("http://169.254.169.254/latest/"), "169.254.169.254"),
    "sends to a file": (lambda: sends_to("file:///etc/passwd"), "'file:///etc/passwd' is not a valid address"),
    "unfolds without end": (unfolding, "bytes"),
}


@pytest.mark.parametrize("harm", REFUSING)
async def test_a_wiki_that_cannot_be_asked_is_refused_before_anything_is_begun(tmp_path: Path, harm: str) -> None:
    play, complaint = REFUSING[harm]
    async with Hostile(play()) as server:
        ended = await expand(tmp_path, server.api, "Start")
    check_refused(ended, tmp_path, complaint)


async def test_a_ring_of_redirects_is_refused_before_anything_is_begun(tmp_path: Path) -> None:
    async with Hostile() as server:
        server.play = sends_to(server.api)
        ended = await expand(tmp_path, server.api, "Start")
    check_refused(ended, tmp_path, "redirect")


async def test_a_dump_with_a_vast_page_is_expanded_with_a_reason_for_it(tmp_path: Path) -> None:
    pages: Iterable[str] = (page("Start", SEED), page("Vast", VAST), page("Nested", NESTED), page("End", "The end."))
    dump = export(tmp_path / "dump.xml", pages)
    ended = await expand(tmp_path, str(dump), "Start")
    assert ended.code == 0, ended.said
    assert states(tmp_path) == {
        "Start": "processed",
        "Nested": "processed",
        "End": "processed",
        "Vast": "too_large",
    }


ENTITIES = '<!DOCTYPE m [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><mediawiki>&b;</mediawiki>'
WHOLE = "<mediawiki>" + "".join(page(f"Start {number}", SEED) for number in range(1_000)) + TAIL
DUMPS: dict[str, tuple[Callable[[], bytes], str]] = {
    "unfolds without end": (lambda: bz2.compress(b"<mediawiki>" + b" " * 150_000_000), "unfolds to more than"),
    "entities": (ENTITIES.encode, "document type"),
    "cut off": (lambda: bz2.compress(WHOLE.encode())[:-20], "is cut off or damaged near byte"),
    "ends in a page": (WHOLE[:-30].encode, "the last of them 'Start 998'"),
}


@pytest.mark.parametrize("harm", DUMPS)
async def test_a_dump_that_is_none_is_refused_before_anything_is_begun(tmp_path: Path, harm: str) -> None:
    content, complaint = DUMPS[harm]
    dump = tmp_path / "dump.xml.bz2"
    dump.write_bytes(content())
    check_refused(await expand(tmp_path, str(dump), "Start"), tmp_path, complaint)
