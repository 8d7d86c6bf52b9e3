"""A provider that bills: it keeps in a folder what each call cost, under the reservation that the call was made for.

A call under a name that it has billed already is that call: it answers the same and bills nothing. A kill leaves a call
billed or not, and nothing in between.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

BILLS = "RAMET_TEST_BILLS"
"""Names the folder in a worker's environment."""


def folder() -> Path:
    """Where this process's provider keeps its bills."""
    return Path(os.environ[BILLS])


def find(name: str) -> int | None:
    """What a call cost, nano-dollars; None when it was never made."""
    try:
        return int((folder() / name).read_text())
    except FileNotFoundError:
        return None


def call(name: str, price: int) -> int:
    """Make a call; what it costs, nano-dollars."""
    draft = folder().parent / "drafts" / f"{name}.{os.getpid()}"
    draft.write_text(str(price))
    with suppress(FileExistsError):
        os.link(draft, folder() / name)
    draft.unlink()
    billed = find(name)
    assert billed is not None
    return billed


def once(what: str) -> bool:
    """True for the first who asks for it, whoever that is and whatever was killed since."""
    try:
        os.close(os.open(folder().parent / "once" / what, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def prepare(place: Path) -> Path:
    """Make the folders; the one to put into ``BILLS``."""
    for name in ("bills", "drafts", "once"):
        (place / name).mkdir()
    return place / "bills"


def bills(place: Path) -> dict[str, int]:
    """Every call that was made, with its price."""
    return {bill.name: int(bill.read_text()) for bill in place.iterdir()}
