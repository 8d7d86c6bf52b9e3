"""PostgreSQL's programs and what guards a server, as far as no server is needed: users, ports, folders, the end."""

from __future__ import annotations

import io
import os
import pwd
import random
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from ramet.testing.postgres_server import guard, server
from ramet.testing.postgres_server import programs as server_programs
from ramet.testing.postgres_server.guard import clean_up
from ramet.testing.postgres_server.programs import Programs, ServerError, ServerOwner, copied, owner, reachable, until
from ramet.testing.postgres_server.server import HOST, Server, free_port

STRANGER = ServerOwner(65_533, 65_533, "a stranger")
ONESELF = ServerOwner(os.geteuid(), os.getegid(), "oneself")


# --- who runs it


def users(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Root looks for a user where there are only these."""

    def look(name: str) -> SimpleNamespace:
        if name not in names:
            raise KeyError(name)
        return SimpleNamespace(pw_uid=7, pw_gid=8)

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(pwd, "getpwnam", look)


def test_root_takes_the_first_user_without_rights_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    users(monkeypatch, "postgres", "nobody")
    assert owner() == ServerOwner(7, 8, "postgres")
    users(monkeypatch, "nobody")
    assert owner() == ServerOwner(7, 8, "nobody")
    users(monkeypatch)
    with pytest.raises(ServerError, match="there is no user postgres or nobody: add one"):
        owner()


def test_who_is_not_root_runs_it_oneself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1_234)
    found = owner()
    assert (found.uid, found.other) == (1_234, False)


def test_the_rights_of_the_owner_and_of_the_group_count_before_those_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = (tmp_path.stat().st_uid, tmp_path.stat().st_gid)
    monkeypatch.setattr(os, "geteuid", lambda: mine[0] + 1)  # Whoever asks is somebody else.
    by_user, by_group = ServerOwner(mine[0], 65_533, "its owner"), ServerOwner(65_533, mine[1], "one of its group")
    tmp_path.chmod(0o711)
    above = {by: reachable(tmp_path, by) for by in (by_user, by_group)}
    for mode, by in ((0o611, by_user), (0o701, by_group)):
        tmp_path.chmod(mode)
        assert not reachable(tmp_path, by)
    for mode, by in ((0o700, by_user), (0o610, by_group)):
        tmp_path.chmod(mode)
        assert reachable(tmp_path, by) == above[by]
    tmp_path.chmod(0o700)


def test_a_folder_that_is_not_ours_to_open_stays_when_the_server_cannot_enter_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    folder = tmp_path / "server"
    folder.mkdir()
    programs = Programs()
    programs.owner = STRANGER
    with pytest.raises(ServerError, match=r"runs as a stranger here, who cannot enter .*/server: name a folder"):
        Server(folder, programs=programs).make()
    assert list(folder.iterdir()) == []


# --- the programs


def test_without_psutil_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_programs, "find_spec", lambda name: None)
    with pytest.raises(ServerError, match=r"psutil is not installed: pip install 'ramet\[postgres-server\]'"):
        Programs()


def test_a_program_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    programs = Programs()
    with pytest.raises(ServerError, match=r"/no_such_program cannot be run: .*No such file"):
        programs.run("no_such_program")
    with pytest.raises(ServerError, match=r"/no_such_program cannot be run: .*No such file"):
        programs.begin("no_such_program", log=tmp_path / "log")


def test_who_runs_it_oneself_changes_neither_user_nor_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def chown(*given: object) -> None:
        raise AssertionError(f"nothing is given away: {given}")

    monkeypatch.setattr(os, "chown", chown)
    programs = Programs()
    programs.owner = ONESELF
    assert programs.version >= 15
    assert programs.give(tmp_path) == tmp_path


@pytest.mark.parametrize("libraries", [True, False])
def test_programs_are_copied_once_with_the_libraries_beside_them(tmp_path: Path, *, libraries: bool) -> None:
    binaries = tmp_path / "home" / server_programs.PACKAGE / "pginstall" / "bin"
    binaries.mkdir(parents=True)
    (binaries / "initdb").write_text("first")
    if libraries:
        (tmp_path / "home" / server_programs.LIBRARIES).mkdir()
    target = tmp_path / "target"
    there = copied(binaries, target)
    assert (there / "initdb").read_text() == "first"
    assert (target / server_programs.LIBRARIES).is_dir() == libraries
    (binaries / "initdb").write_text("second")
    assert copied(binaries, target) == there
    assert (there / "initdb").read_text() == "first"


def test_what_does_not_happen_in_time_is_told() -> None:
    with pytest.raises(ServerError, match="waited 0 seconds in vain: the moon falls"):
        until(lambda: False, "the moon falls", 0.01)


@pytest.fixture
def taken() -> Iterator[list[int]]:
    """Three ports that somebody listens on."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(3)]
        for each in sockets:
            each.bind((HOST, 0))
            each.listen()
        yield [each.getsockname()[1] for each in sockets]


def test_a_port_is_looked_for_until_one_is_free(taken: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PORTS_TRIED", 3)
    whichever = 0  # The system binds that to any port that is free.
    monkeypatch.setattr(random, "sample", lambda ports, count: [*taken[:2], whichever])
    assert free_port() == whichever
    monkeypatch.setattr(random, "sample", lambda ports, count: taken)
    with pytest.raises(ServerError, match="none of 3 ports tried is free: name one"):
        free_port()


# --- its end


def sleeper() -> subprocess.Popen[bytes]:
    """A program that ends when it is told to; until its parent has looked, its number stays taken."""
    return subprocess.Popen(["sleep", "600"])


def test_the_guard_ends_what_has_its_lock_in_the_folder_and_deletes_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server_, pooler = sleeper(), sleeper()
    folder = tmp_path / "server"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "postmaster.pid").write_text(f"{server_.pid}\n{folder}\n")
    (folder / "pid").write_text(f"{pooler.pid}\n")
    pooler.kill()
    pooler.wait()
    looked: list[float] = []

    def look_again(seconds: float) -> None:
        looked.append(seconds)
        assert server_.wait() == -signal.SIGQUIT

    monkeypatch.setattr(guard, "time", SimpleNamespace(monotonic=time.monotonic, sleep=look_again))
    clean_up(folder)
    assert looked == [guard.LOOK_AGAIN_SECONDS]
    assert not folder.exists()


@pytest.mark.parametrize("lock", [None, "", "no number\n"])
def test_without_a_lock_that_names_a_process_the_guard_only_deletes(tmp_path: Path, lock: str | None) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    if lock is not None:
        (folder / "pid").write_text(lock)
    clean_up(folder)
    assert not folder.exists()


def test_the_guard_begins_when_its_maker_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    monkeypatch.setattr(sys, "argv", ["guard", str(folder)])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    monkeypatch.delitem(sys.modules, guard.__name__)
    runpy.run_module(guard.__name__, run_name="__main__")
    assert not folder.exists()
