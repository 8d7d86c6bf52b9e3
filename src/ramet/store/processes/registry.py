"""Processes of one machine on one database: wake each other, and prove that one is dead.

SQLite's have a folder beside their file. A server has no such place, so it is a folder of this user's own, named after
the database: ``$XDG_RUNTIME_DIR/ramet/<hash>``, or ``ramet-<uid>/<hash>`` below the folder for temporary files.

A file found there counts as proof of death, so it must not be forged: the folder must belong to this user and be closed
to all others, and its name is a hash over the boot of the machine too, so that two machines that share a folder (a home
on a network, two virtual ones over one disk) never meet in it: a lock is only heard by the kernel that holds it.
Containers of one kernel that share the folder share its locks and may meet; those that do not, do not.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import socket
import stat
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ramet.store.loggers import own_logger
from ramet.store.processes.running_notes import NEW_FILE, left_running

log = own_logger("ramet.store")

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
NOT_USED = "%s is not used, only leases tell which workers of this machine are dead: %s"
"""Log line about a folder that is not used, with the reason."""
_PRIVATE = 0o077
"""Permissions that only the owner may have."""


def runtime_folder(identity: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the folder of this database for processes of this user; its parent exists, itself it may not.

    None where there is no safe place: the one there is belongs to another user, is open to others, or is a link. Then
    leases alone tell who is dead, and the server's notifications wake.

    Args:
        identity: names the database among all databases; no secret, and none becomes readable through the name.
        environ: where ``XDG_RUNTIME_DIR`` is looked up.
    """
    given = environ.get("XDG_RUNTIME_DIR", "")
    if given and Path(given).is_absolute() and refusal(Path(given)) is None:
        place = Path(given) / "ramet"
    else:
        from tempfile import gettempdir

        place = Path(gettempdir()) / f"ramet-{os.geteuid()}"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        why: str | None = str(error)
    else:
        why = refusal(place)
    if why is not None:
        log.warning(NOT_USED, place, why)
        return None
    return place / hashlib.sha256(f"{identity}\n{_boot()}".encode()).hexdigest()[:16]


def refusal(place: Path) -> str | None:
    """Why a folder is not this user's own; None when it is."""
    try:
        found = place.lstat()
    except OSError as error:
        return str(error)
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a folder"
    if found.st_uid != os.geteuid():
        return f"it belongs to the user with id {found.st_uid}"
    if found.st_mode & _PRIVATE:
        return f"others may use it (mode {stat.S_IMODE(found.st_mode):o}): chmod 700 it"
    return None


def _boot() -> str:
    """Return the id of this machine's boot."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return f"{os.uname().nodename} {uuid.getnode()}"


SOCKET_PATH_BYTES_MAX = 100
OPEN_FOLDERS = Path("/proc/self/fd")


class ProcessRegistry:
    """Processes on a database that meet in one folder: each wakes the others and can prove that one is dead."""

    def __init__(self, database: Path, folder: Path | None = None) -> None:
        """Meet beside a database that is a file, or in ``folder``, whose parent has to exist when a process joins.

        Nothing is made or read before it is asked for.
        """
        self._folder = folder or database.parent / f"{database.name}-ramet"
        self._name: str | None = None
        self._lock: int | None = None
        self._socket: socket.socket | None = None
        self._rung: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def join(self, name: str, *, unless_joined: bool = False) -> None:
        """Be present under ``name``, and no other, until :meth:`leave` or the death of this process.

        With ``unless_joined`` the name that joined before stays.
        """
        if unless_joined and self._name is not None:
            return
        ProcessRegistry.leave(self)  # Only this part: a subclass goes on hearing.
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            why = refusal(self._folder)
            if why is not None:
                log.warning(NOT_USED, self._folder, why)
                return
            self._name = name
            self._hold_lock(name)

    def _hold_lock(self, name: str) -> None:
        # Locked under another name first: the file must not be visible before its lock is held.
        early = self._folder / f"{name}.new"
        self._lock = os.open(early, NEW_FILE, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        early.rename(self._folder / f"{name}.lock")

    def dead(self) -> list[str]:
        """Names of workers whose process is gone, by the operating system's word."""
        if refusal(self._folder) is not None:
            return []
        names = []
        for path in self._folder.glob("*.lock"):
            if path.stem != self._name and _unlocked(path):
                names.append(path.stem)
        return names

    def alive(self) -> list[str]:
        """Names of workers whose process lives, by the operating system's word."""
        if not self._folder.is_dir():
            return []
        return sorted(path.stem for path in self._folder.glob("*.lock") if not _unlocked(path))

    def forget(self, name: str) -> None:
        """Remove what a dead worker left, once none of its claims is left."""
        _remove(self._folder, name)

    @property
    def folder(self) -> Path | None:
        """Folder in which a dead worker's slots are looked for; None where there is no safe place."""
        if os.path.lexists(self._folder) and refusal(self._folder) is not None:
            return None
        return self._folder

    def last_running(self, names: Sequence[str]) -> dict[str, frozenset[tuple[int, int]] | None]:
        """Return the claims that these dead workers ran when they died, by name; None where they left no notes."""
        return {name: left_running(self._folder, name) for name in names}

    def ring(self) -> None:
        """Wake everybody who waits, here and in other processes."""
        self.wake_here()
        if refusal(self._folder) is not None:
            return
        try:
            names = [name for name in os.listdir(self._folder) if name.endswith(".sock")]
        except OSError:
            return
        # Without a free file descriptor no process is woken and polling does the work; the commit must not fail.
        with contextlib.suppress(OSError):
            self._send([name for name in names if name != f"{self._name}.sock"])

    def wake_here(self) -> None:
        """Wake all that wait in this process; from any thread."""
        rung, loop = self._rung, self._loop  # This runs in the writer's thread too.
        if loop is not None and rung is not None:
            # A loop that ends in this very moment has no waiting tasks left.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(rung.set)

    def _send(self, names: Sequence[str]) -> None:
        if not names:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, _short(self._folder, names) as folder:
            sender.setblocking(False)
            for name in names:
                # A full or dead socket needs no ringing: its owner is awake, or gone.
                with contextlib.suppress(OSError):
                    sender.sendto(b"1", str(folder / name))

    async def wait(self, timeout_seconds: float) -> None:
        """Return when a ring came since the last call, or after the time-out."""
        rung = self._listen()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await rung.wait()
        rung.clear()

    def _listen(self) -> asyncio.Event:
        loop = asyncio.get_running_loop()
        if self._rung is None or self._loop is not loop:
            self._rung, self._loop = asyncio.Event(), loop
            self._open_socket(loop)
        return self._rung

    def _open_socket(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._name is None or not hasattr(socket, "AF_UNIX"):
            return
        name = f"{self._name}.sock"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            with _short(self._folder, [name]) as folder:
                listener.setblocking(False)
                (folder / name).unlink(missing_ok=True)
                listener.bind(str(folder / name))
        except OSError:
            listener.close()
            return
        self._socket = listener
        loop.add_reader(listener, self._heard)

    def _heard(self) -> None:
        assert self._socket is not None
        assert self._rung is not None
        with contextlib.suppress(OSError):
            while self._socket.recv(64):
                pass
        self._rung.set()

    def leave(self) -> None:
        """Take the files away. Safe to call twice."""
        if self._socket is not None:
            if self._loop is not None and not self._loop.is_closed():
                with contextlib.suppress(RuntimeError):
                    self._loop.remove_reader(self._socket)
            self._socket.close()
            self._socket = None
        self._rung = None
        if self._name is not None:
            # Before the lock is released, so that it is not taken for that of a dead worker.
            _remove(self._folder, self._name)
            self._name = None
            with contextlib.suppress(OSError):
                self._folder.rmdir()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _remove(folder: Path, name: str) -> None:
    for path in folder.glob(f"{name}.*"):
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _short(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield a path to ``folder`` that leaves room for these names in a socket's address, where the system has one."""
    longest = max(len(os.fsencode(folder / name)) for name in names)
    if longest <= SOCKET_PATH_BYTES_MAX or not OPEN_FOLDERS.is_dir():
        yield folder
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield OPEN_FOLDERS / str(handle)
    finally:
        os.close(handle)


def _unlocked(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


_NETWORK = ("nfs", "cifs", "smb", "fuse.sshfs", "glusterfs", "fuse.glusterfs", "ceph", "lustre", "afs", "ncpfs")


def network_file_system(path: Path, mounts: Path = Path("/proc/mounts")) -> str | None:
    """Return the type of the network file system under ``path``, or None. Locks on such are not to be trusted."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    where = str(path.resolve())
    best, kind = "", ""
    for line in lines:
        parts = line.split()
        if len(parts) > 2:
            mount = parts[1].replace("\\040", " ")
            inside = where == mount or where.startswith(mount.rstrip("/") + "/")
            if inside and len(mount) >= len(best):
                best, kind = mount, parts[2]
    return kind if kind.startswith(_NETWORK) else None
