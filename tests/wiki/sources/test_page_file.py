"""Page files: made once, whole or not at all, anew when the source has changed, whoever is killed meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ramet.wiki.errors import SourceError
from ramet.wiki.pages import Markup
from ramet.wiki.sources import page_file, page_source
from ramet.wiki.sources.dump import open_dump
from ramet.wiki.sources.page_file import Origin, PageRecord, PageWriter, open_page_file
from ramet.wiki.wikitext.site import Site
from tests.support.waiting import HANG_SECONDS
from tests.wiki.sources.export_files import export, page

ORIGIN = Origin("isles of ..Ö/.xml", "/somewhere", "1")


def fill(writer: PageWriter) -> Site:
    writer.add(PageRecord(1, "Ollo", "Ollo", Markup.PLAIN, "An isle."))
    assert list(writer.sort()) == []
    return Site("isles", {"genus": 14}, frozenset({"de"}), False, ("#a", "#b"), frozenset({"X"}), frozenset({"Y"}), "u")


def names(data_dir: Path, pattern: str = "*.sqlite") -> set[str]:
    return {path.name for path in (data_dir / "pages").glob(pattern)}


def test_a_page_file_is_made_once_and_keeps_what_it_was_told(tmp_path: Path) -> None:
    filled: list[PageWriter] = []

    def counted(writer: PageWriter) -> Site:
        filled.append(writer)
        return fill(writer)

    sites = [open_page_file(ORIGIN, tmp_path, counted).site for _ in range(2)]
    assert len(filled) == 1
    assert (
        sites
        == [Site("isles", {"genus": 14}, frozenset({"de"}), False, ("#a", "#b"), frozenset("X"), frozenset("Y"), "u")]
        * 2
    )
    file = open_page_file(ORIGIN, tmp_path, counted)
    entry = file.find("Ollo")
    assert entry is not None
    assert file.content(entry.position) == (Markup.PLAIN, "An isle.", {})
    assert file.find("ollo") is None


def test_another_state_of_the_source_is_read_anew_and_the_old_one_forgotten(tmp_path: Path) -> None:
    path = export(tmp_path / "isles.xml", [page("Ollo", "old")])
    reader = open_dump(path, tmp_path)
    first = names(tmp_path)
    export(path, [page("Ollo", "newer")])
    open_dump(path, tmp_path)
    second = names(tmp_path)
    assert len(first) == len(second) == 1
    assert first.isdisjoint(second)
    # Who had the old one open goes on with it.
    assert reader._follow("Ollo") is not None


def test_sources_of_one_name_do_not_disturb_each_other(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        open_dump(export(tmp_path / folder / "isles.xml", [page("Ollo", folder)]), tmp_path)
    assert len(names(tmp_path)) == 2


def test_a_source_that_changes_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = export(tmp_path / "isles.xml", [page("Ollo", "old")])
    sort = PageWriter.sort

    def changed(writer: PageWriter) -> object:
        path.write_text(path.read_text() + " ")
        return sort(writer)

    monkeypatch.setattr(PageWriter, "sort", changed)
    with pytest.raises(SourceError, match="changed while it was read"):
        open_dump(path, tmp_path)
    assert names(tmp_path) == set()


def test_what_a_failure_leaves_is_nothing(tmp_path: Path) -> None:
    def fails(writer: PageWriter) -> Site:
        fill(writer)
        raise SourceError("no more")

    with pytest.raises(SourceError, match="no more"):
        open_page_file(ORIGIN, tmp_path, fails)
    assert names(tmp_path, "*") == names(tmp_path, "*.lock")
    assert open_page_file(ORIGIN, tmp_path, fill).find("Ollo") is not None


def test_a_damaged_page_file_is_made_anew(tmp_path: Path) -> None:
    open_page_file(ORIGIN, tmp_path, fill).close()
    (name,) = names(tmp_path)
    for content in (b"", b"SQLite format 3\x00", b"x" * 5000):
        (tmp_path / "pages" / name).write_bytes(content)
        assert open_page_file(ORIGIN, tmp_path, fill).find("Ollo") is not None


def test_a_data_directory_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "pages").write_text("a file")
    with pytest.raises(SourceError, match=r"cannot write to the data directory .*choose another"):
        open_page_file(ORIGIN, tmp_path, fill)


def test_of_several_that_open_a_source_one_reads_and_the_others_wait(tmp_path: Path) -> None:
    begun, waiting, filled, told = threading.Event(), threading.Event(), [], []

    def slowly(writer: PageWriter) -> Site:
        filled.append(writer)
        begun.set()
        assert waiting.wait(HANG_SECONDS)
        return fill(writer)

    def told_of_waiting(line: str) -> None:
        told.append(line)
        waiting.set()

    def second() -> None:
        assert begun.wait(HANG_SECONDS)
        open_page_file(ORIGIN, tmp_path, slowly, told_of_waiting)

    threads = [
        threading.Thread(target=second),
        threading.Thread(target=open_page_file, args=(ORIGIN, tmp_path, slowly)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(filled) == 1
    assert told == ["isles of ..Ö/.xml: another process is reading it; waiting for that to end"]


KILLED = """
import os, signal, sys
from pathlib import Path
from ramet.wiki.sources import page_file, page_source
from ramet.wiki.sources.dump import open_dump

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

setattr(page_file, sys.argv[3], die)
open_dump(Path(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.mark.process
@pytest.mark.parametrize("moment", ["_site_to_json", "_force_to_disk"])
def test_a_process_that_is_killed_while_it_reads_leaves_nothing_that_counts(tmp_path: Path, moment: str) -> None:
    path = export(tmp_path / "isles.xml", [page(f"Isle {number}", "text " * 50) for number in range(500)])
    killed = subprocess.run([sys.executable, "-c", KILLED, path, tmp_path, moment], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert names(tmp_path) == set()
    assert len(names(tmp_path, ".*.part")) == 1
    path.write_text(path.read_text() + " ")
    source = open_dump(path, tmp_path)
    assert source._file.find("Isle 499") is not None
    assert names(tmp_path, ".*.part") == set()


def test_another_version_of_the_tables_is_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = ORIGIN.file_name()
    monkeypatch.setattr(page_file, "FORMAT", "none")
    assert ORIGIN.file_name() != before
    assert os.sep not in before


async def test_the_nearest_titles_are_suggested_out_of_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_source, "_LOOKED_AT_MAX", 100)
    source = open_dump(export(tmp_path / "isles.xml", [page(f"Isle {number}", "x") for number in range(500)]), tmp_path)
    assert (await source.suggest("Ilse 77"))[0] == "Isle 77"
    assert await source.suggest("isle") == ("Isle 0", "Isle 1", "Isle 2")
