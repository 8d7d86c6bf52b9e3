"""Where the processes of one user on one running machine meet that use the same database server's database.

SQLite's have a folder beside their file. A server has no such place, so it is a folder of this user's own, named
after the database: ``$XDG_RUNTIME_DIR/ramet/<hash>``, or ``ramet-<uid>/<hash>`` below the folder for temporary files.

What is found there counts as proof of death, so nobody may be misled by it: the folder must belong to this user and be
closed to all others, and its name is a hash over the boot of the machine too, so that two machines that share a
folder (a home on a network, two virtual ones over one disk) never meet in it: a lock is only heard by the kernel that
holds it. Containers of one kernel that share the folder share its locks and may meet; those that do not, do not.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path

from ramet.store.loggers import own_logger

log = own_logger("ramet.store")

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
NOT_USED = "%s is not used, only leases tell which workers of this machine are dead: %s"
"""Told of a folder, and why."""
_PRIVATE = 0o077
"""Permissions that nobody but the owner may have."""


def runtime_folder(identity: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The folder of this database for processes of this user; its parent exists, itself it may not.

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
        place = Path(tempfile.gettempdir()) / f"ramet-{os.geteuid()}"
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
        return "it is no folder"
    if found.st_uid != os.geteuid():
        return f"it belongs to the user with id {found.st_uid}"
    if found.st_mode & _PRIVATE:
        return f"others may use it (mode {stat.S_IMODE(found.st_mode):o}): chmod 700 it"
    return None


def _boot() -> str:
    """This machine since it was started."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return f"{os.uname().nodename} {uuid.getnode()}"
