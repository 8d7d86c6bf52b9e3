"""``ramet worker --reload``, for development: when a source file changes, the worker drains and begins from scratch.

The whole process is replaced, not only the one that runs handlers: the supervisor knows the kinds of the app and their
limits, too. Files are looked at now and then, which needs nothing of the system and takes milliseconds for hundreds.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from typing import NoReturn, Protocol

from ramet.commands.options import short_path
from ramet.commands.terminal import plain
from ramet.engine.base.logs import own_logger

log = own_logger("ramet.cli")

LOOK_SECONDS = 0.5
INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib")
INSTALLED_NAMES = {"site-packages", "dist-packages"}

Version = tuple[int, int]
"""Time of a file's last change, in nanoseconds, and its size in bytes."""


class Reloadable(Protocol):
    """The part of a worker that a change reaches."""

    def drain(self) -> None: ...
    def stop(self) -> None: ...


class SourceWatch:
    """Notices changes of an app's source: of its own package or folder from now on, even where it cannot be loaded.

    Args:
        target: the app, as the command line names it.
    """

    def __init__(self, target: str) -> None:
        self._package = target.partition(":")[0].partition(".")[0]
        self._folders: set[Path] = set()
        self._seen = self._look()
        self.due = False
        """True if a file changed, so that the process is to be replaced."""

    def loaded(self) -> None:
        """Watch what the app, or the part of it that could be loaded, was made of, too."""
        self._folders = _loaded_folders()
        found = self._look()
        own = _own_files(self._package)  # After the look: a file that is made between the two counts as a change.
        self._seen |= {path: version for path, version in found.items() if path not in own}

    async def changed(self) -> None:
        """Return when a file was changed, made or removed."""
        while True:
            found = await asyncio.to_thread(self._look)
            different = {path for path, _ in found.items() ^ self._seen.items()}
            self._seen = found
            if different:
                self.due = True
                log.warning("%s changed: this worker begins again", plain(short_path(str(min(different)))))
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def drain(self, worker: Reloadable) -> None:
        """Drain the worker at the first change, and stop it at the second: what still runs goes back."""
        await self.changed()
        worker.drain()
        await self.changed()
        worker.stop()

    def _look(self) -> dict[Path, Version]:
        found = {}
        paths = {path for folder in self._folders for path in folder.glob("*.py")}
        for path in paths.union(_own_files(self._package)):
            try:
                status = path.stat()
            except OSError:  # It was removed meanwhile, as editors do before they write.
                continue
            found[path] = (status.st_mtime_ns, status.st_size)
        return found


def _loaded_folders() -> set[Path]:
    """Return folders of all modules that are neither installed nor part of Python."""
    installed = tuple(sysconfig.get_path(name) + os.sep for name in INSTALLED)
    files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
    paths = {Path(file).absolute() for file in files if file.endswith(".py")}
    return {
        path.parent for path in paths if not str(path).startswith(installed) and INSTALLED_NAMES.isdisjoint(path.parts)
    }


def _own_files(package: str) -> set[Path]:
    """Return all files of a package, those beside a single module, or those of this folder for a missing one."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    if spec is not None and spec.submodule_search_locations is not None:
        return {path for folder in spec.submodule_search_locations for path in Path(folder).rglob("*.py")}
    folder = Path.cwd() if spec is None or spec.origin is None else Path(spec.origin).parent
    return set(folder.absolute().glob("*.py"))


def start_again() -> NoReturn:
    """Replace this process by one with the same command line, under the same process id."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - no other program: this one
