"""Processes of one user, one boot and one database meet in one folder; nobody else can lead them astray there."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ramet.store.processes import registry as module
from ramet.store.processes.registry import ProcessRegistry, runtime_folder

PROJECT = Path(__file__).parents[3]


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir(mode=0o777)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(folder))
    return folder


def own(temporary: Path) -> Path:
    return temporary / f"ramet-{os.geteuid()}"


def found(environ: dict[str, str] | None = None, identity: str = "7:5:public") -> Path | None:
    return runtime_folder(identity, environ or {})


def test_the_users_runtime_folder_is_preferred(runtime: Path, temporary: Path) -> None:
    folder = found({"XDG_RUNTIME_DIR": str(runtime)})
    assert folder is not None
    assert folder.parent == runtime / "ramet"
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("given", ["", "relative", "/nowhere/at/all"])
def test_without_one_it_is_below_the_temporary_folder_and_closed_to_others(temporary: Path, given: str) -> None:
    folder = found({"XDG_RUNTIME_DIR": given})
    assert folder is not None
    assert folder.parent == own(temporary)
    assert folder.parent.stat().st_mode & 0o777 == 0o700


def test_a_runtime_folder_that_is_open_to_others_is_not_taken(runtime: Path, temporary: Path) -> None:
    runtime.chmod(0o755)
    folder = found({"XDG_RUNTIME_DIR": str(runtime)})
    assert folder is not None
    assert folder.parent == own(temporary)


def test_each_database_has_its_own_and_the_name_tells_nothing(temporary: Path) -> None:
    one, other = found(identity="7:5:public"), found(identity="7:6:public")
    assert one is not None
    assert other is not None
    assert one != other == found(identity="7:6:public")
    assert "7" not in {one.name, other.name}
    assert "public" not in str(one)


def test_another_boot_of_the_machine_meets_elsewhere(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = found()
    boot = temporary / "boot_id"
    boot.write_text("another\n")
    monkeypatch.setattr(module, "_BOOT_ID", boot)
    there = found()
    monkeypatch.setattr(module, "_BOOT_ID", temporary / "missing")
    assert len({here, there, found()}) == 3


@pytest.mark.parametrize("mode", [0o777, 0o750, 0o701])
def test_a_folder_that_others_may_enter_is_refused(
    temporary: Path, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    own(temporary).mkdir()
    own(temporary).chmod(mode)
    assert found() is None
    assert "chmod 700" in caplog.text


def test_a_folder_of_another_user_is_refused(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (temporary / f"ramet-{os.geteuid() + 1}").mkdir(mode=0o700)
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert found() is None
    assert f"belongs to the user with id {mine}" in caplog.text


def test_a_link_is_refused_wherever_it_leads(temporary: Path, runtime: Path, caplog: pytest.LogCaptureFixture) -> None:
    own(temporary).symlink_to(runtime)
    assert found() is None
    assert "is not a folder" in caplog.text


def test_a_file_in_the_way_is_no_error(temporary: Path, caplog: pytest.LogCaptureFixture) -> None:
    own(temporary).touch()
    assert found() is None
    assert "is not used" in caplog.text


def test_a_process_that_was_killed_is_proven_dead_there(temporary: Path) -> None:
    folder = found()
    assert folder is not None
    here = ProcessRegistry(folder, folder)
    here.join("here")
    code = f"""
import sys
import tempfile
from pathlib import Path
from ramet.store.processes.registry import ProcessRegistry
there = ProcessRegistry(*[Path({str(folder)!r})] * 2)
there.join("there")
print("joined", flush=True)
sys.stdin.read()
"""
    there = subprocess.Popen(
        [sys.executable, "-c", code], cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert there.stdout is not None
    assert there.stdout.readline() == "joined\n"
    assert (here.alive(), here.dead()) == (["here", "there"], [])
    there.kill()
    there.communicate()
    assert (here.alive(), here.dead()) == (["here"], ["there"])
    here.forget("there")
    here.leave()
    assert not folder.exists()
