"""Facts that a graph states of itself, in every kind of file: the version of its schema and whose vectors it holds."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ramet.commands.errors import one_line
from ramet.wiki.errors import GraphBusy, GraphError, GraphMismatch
from ramet.wiki.graphs.base import NO_MODEL

SCHEMA_VERSION = 4


def new_info(*, model_id: str, dimension: int, language: str) -> dict[str, str]:
    """Return the facts that a new graph states of itself."""
    assert (dimension == 0) == (model_id == NO_MODEL), "a graph without vectors has no model, any other has one"
    return {
        "schema_version": str(SCHEMA_VERSION),
        "embedding_model": model_id,
        "embedding_dimension": str(dimension),
        "language": language,
    }


def check_schema(path: Path, info: Mapping[str, str]) -> None:
    """Refuse a graph of another version.

    Raises:
        GraphMismatch: `info`, of the graph at `path`, names another schema.
    """
    if info.get("schema_version") != str(SCHEMA_VERSION):
        raise GraphMismatch(
            f"{path} has graph schema {info.get('schema_version')}, this release reads "
            f"{SCHEMA_VERSION}; use the release that made it, or another graph file"
        )


def check_model(path: Path, info: Mapping[str, str], *, model_id: str, dimension: int) -> None:
    """Refuse vectors of one model in, or against, a graph of another.

    Raises:
        GraphMismatch: `info`, of the graph at `path`, names another model or another number of dimensions.
    """
    if (info["embedding_model"], info["embedding_dimension"]) != (model_id, str(dimension)):
        raise GraphMismatch(
            f"{path} holds {_vectors_of(info['embedding_model'], info['embedding_dimension'])}, not "
            f"{_vectors_of(model_id, str(dimension))}, and they are never mixed; use that model or another graph file"
        )


def no_graph(path: Path) -> GraphError:
    """Return the error for a graph that is not there."""
    return GraphError(f"there is no graph at {path} yet; make one with `ramet wiki expand`")


def foreign_file(path: Path) -> GraphError:
    """Return the error for a database of another program."""
    return GraphError(f"{path} is not a graph of `ramet wiki`; give another file")


def _vectors_of(model_id: str, dimension: str) -> str:
    return "no vectors" if model_id == NO_MODEL else f"vectors of {model_id} ({dimension} numbers)"


class GraphLocks:
    """The locks of one open graph: a writer's two, or a reader's one."""

    def __init__(self, writer: int | None, readers: int | None) -> None:
        self._writer = writer
        self._readers = readers

    @classmethod
    def exclusive(cls, path: Path) -> GraphLocks:
        """Become the writer of `path`, or raise GraphBusy at once."""
        writer = lock_alone(path, "writer")
        try:
            return cls(writer, os.open(f"{path}.readers", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))
        except OSError as error:
            os.close(writer)
            raise GraphError(f"cannot write beside {path}: {one_line(error.strerror or error)}") from error

    @classmethod
    def shared(cls, path: Path) -> GraphLocks:
        """Keep checkpoints of `path` away, waiting for one that is under way (under a second)."""
        try:
            readers = os.open(f"{path}.readers", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            # Where no lock file can be made there is no writer either, as on a medium that only reads.
            return cls(None, None)
        fcntl.flock(readers, fcntl.LOCK_SH)
        return cls(None, readers)

    @contextmanager
    def without_readers(self) -> Iterator[bool]:
        """Keep readers out meanwhile; False if there are some."""
        assert self._readers is not None
        try:
            fcntl.flock(self._readers, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        try:
            yield True
        finally:
            fcntl.flock(self._readers, fcntl.LOCK_UN)

    def release(self) -> None:
        """Free them; further calls do nothing."""
        for lock in (self._writer, self._readers):
            if lock is not None:
                os.close(lock)
        self._writer = self._readers = None


def lock_alone(path: Path, purpose: str) -> int:
    """Take the lock `FILE.purpose` of the graph at `path`; close what is returned to free it.

    Raises:
        GraphBusy: another process holds it.
        GraphError: the lock file cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(f"{path}.{purpose}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.truncate(lock, 0)
            os.write(lock, str(os.getpid()).encode())
            return lock
        except BlockingIOError as error:
            process = os.pread(lock, 20, 0).decode() or "unknown"
            os.close(lock)
            raise GraphBusy(
                f"process {process} is writing to {path}, and a graph admits one writer; wait for it to end, or stop it"
            ) from error
        except BaseException:
            os.close(lock)
            raise
    except OSError as error:
        raise GraphError(f"cannot write beside {path}: {one_line(error.strerror or error)}") from error
