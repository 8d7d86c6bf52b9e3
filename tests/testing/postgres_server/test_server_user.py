"""Root may not run PostgreSQL: another user does, who must get at the programs and the data without opening a home."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from ramet.testing.postgres import Cluster, temporary_folder
from ramet.testing.postgres_server import programs
from ramet.testing.postgres_server.programs import Programs, ServerError, ServerOwner, owner, packaged, reachable
from ramet.testing.postgres_server.server import Server, value

ROOT = os.geteuid() == 0
NOBODY = ServerOwner(65_533, 65_533, "a stranger")


def modes(place: Path) -> dict[Path, int]:
    return {path: stat.S_IMODE(path.stat().st_mode) for path in (place, *place.parents)}


def test_a_closed_folder_anywhere_above_is_out_of_reach(tmp_path: Path) -> None:
    place = tmp_path / "open"
    place.mkdir(mode=0o755)
    above = [path for path in place.parents if not path.stat().st_mode & stat.S_IXOTH]
    assert reachable(place, NOBODY) == (not above)
    tmp_path.chmod(0o700)
    assert not reachable(place, NOBODY)
    assert reachable(place, ServerOwner(os.geteuid(), os.getegid(), "oneself"))


def test_programs_in_a_closed_home_are_copied_and_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    home = tmp_path / "home" / programs.PACKAGE / "pginstall" / "bin"
    shutil.copytree(packaged().parent, home.parent)
    libraries = packaged().parents[2] / programs.LIBRARIES
    if libraries.is_dir():
        shutil.copytree(libraries, tmp_path / "home" / programs.LIBRARIES)
    monkeypatch.setattr(programs, "packaged", lambda: home)
    before = modes(home)
    with Cluster() as cluster:
        assert cluster.server.programs.folder.is_relative_to(cluster.server.folder) == ROOT
        assert value(cluster.url(), "SELECT 1") == 1
    assert modes(home) == before


def test_named_programs_and_data_out_of_reach_are_told_in_one_line(tmp_path: Path) -> None:
    if not ROOT:
        assert owner().uid == os.geteuid(), "who is not root reaches what is one's own"
        return
    tmp_path.chmod(0o700)
    shutil.copytree(packaged().parent, tmp_path / "pginstall")
    with pytest.raises(ServerError, match=r"who cannot reach .*: put the programs where every user may read them"):
        Programs(tmp_path / "pginstall" / "bin")
    with pytest.raises(ServerError, match=r"who cannot enter .*: name a folder that every user may enter"):
        Server(tmp_path / "server").make()
    assert not (tmp_path / "server").exists()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_a_closed_place_for_temporary_files_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = temporary_folder(NOBODY)
    try:
        assert not folder.is_relative_to(tmp_path)
    finally:
        folder.rmdir()
    monkeypatch.setattr("ramet.testing.postgres.PLACES", ())
    with pytest.raises(ServerError, match="set TMPDIR to a place"):
        temporary_folder(NOBODY)
