"""Files at the stand-in: kept on disk, never as a whole in memory."""

from __future__ import annotations

import itertools
import json
import mmap
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from ramet.llm.testing import answers
from ramet.llm.testing.answers import Ask, answer, chat_ask, response_ask
from ramet.llm.testing.journal import Entry, Journal
from ramet.llm.testing.script import Script

_CHUNK = 1 << 18
_NAME = re.compile(rb'\bname="([^"]*)"')


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A part of a file on disk."""

    id: str
    path: Path
    start: int
    size: int
    purpose: str
    created: int

    def as_json(self) -> dict[str, Any]:
        """Return a ``file``."""
        return {
            "id": self.id, "object": "file", "bytes": self.size, "created_at": self.created,
            "filename": f"{self.id}.jsonl", "purpose": self.purpose, "status": "processed",
        }  # fmt: skip

    def lines(self) -> Iterator[bytes]:
        """Its lines, one at a time."""
        left = self.size
        with self.path.open("rb") as file:
            file.seek(self.start)
            while left > 0:
                line = file.readline(left)
                left -= len(line)
                yield line

    def first_line(self) -> bytes:
        """Its first line; empty of an empty file."""
        return next(self.lines(), b"")

    def parts(self, size: int | None = None) -> Iterator[bytes]:
        """Its bytes in chunks, or the first `size` of them."""
        left = self.size if size is None else min(size, self.size)
        with self.path.open("rb") as file:
            file.seek(self.start)
            while left > 0 and (part := file.read(min(left, _CHUNK))):
                left -= len(part)
                yield part


class Files:
    """All of them, in one folder. Safe for threads."""

    def __init__(self, folder: Path) -> None:
        """None yet."""
        self._folder = folder
        self._kept: dict[str, KeptFile] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def new_path(self) -> Path:
        """Return the path at which a new file can be written."""
        with self._lock:
            return self._folder / f"{next(self._numbers):08d}"

    def get(self, id: str) -> KeptFile | None:
        """Return a file by its id."""
        with self._lock:
            return self._kept.get(id)

    def keep(self, path: Path, *, purpose: str, start: int = 0, size: int | None = None) -> KeptFile:
        """Return a file that was written to `path`."""
        whole = path.stat().st_size if size is None else size
        kept = KeptFile(f"file-{path.name}", path, start, whole, purpose, int(time.time()))
        with self._lock:
            self._kept[kept.id] = kept
        return kept

    def receive(self, source: BinaryIO, length: int, content_type: str) -> KeptFile:
        """Write a ``multipart/form-data`` body with a part ``file`` straight to disk.

        Raises:
            ValueError: it is not such a body.
        """
        boundary = re.search(r'boundary="?([^";]+)', content_type)
        if boundary is None or not content_type.startswith("multipart/form-data"):
            raise ValueError("the body is not multipart/form-data")
        path = self.new_path()
        with path.open("wb") as file:
            left = length
            while left > 0 and (part := source.read(min(left, _CHUNK))):
                left -= len(part)
                file.write(part)
        if left or not length:
            raise ValueError("the body broke off")
        parts = _parts(path, b"--" + boundary[1].encode())
        if "file" not in parts:
            raise ValueError("there is no part 'file'")
        start, size = parts["file"]
        begin, count = parts.get("purpose", (0, 0))
        with path.open("rb") as file:
            file.seek(begin)
            purpose = file.read(count).decode("ascii", "replace")
        return self.keep(path, purpose=purpose, start=start, size=size)


def _parts(path: Path, boundary: bytes) -> dict[str, tuple[int, int]]:
    """Return the places of the parts of a multipart body: name -> (start, size). The content is not read."""
    found: dict[str, tuple[int, int]] = {}
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as body:
        at = body.find(boundary)
        while at >= 0:
            head = at + len(boundary) + 2
            start = body.find(b"\r\n\r\n", head)
            after = body.find(b"\r\n" + boundary, start)
            if start < 0 or after < 0:
                break
            name = _NAME.search(body[head:start])
            if name is not None:
                found[name[1].decode("ascii", "replace")] = (start + 4, after - start - 4)
            at = after + 2
    return found


CHAT_ENDPOINT = "/v1/chat/completions"
RESPONSES_ENDPOINT = "/v1/responses"
WINDOW_SECONDS = 86_400
LINES_MAX = 50_000

_LIVE = ("validating", "in_progress", "finalizing", "cancelling")


@dataclass(slots=True)
class _StoredBatch:
    """One batch, and what came of it."""

    id: str
    endpoint: str
    input: KeptFile
    metadata: dict[str, str]
    marks: Mapping[str, str]
    created: float
    worker: threading.Thread | None = None
    polls: int = 0
    status: str = "validating"
    output: KeptFile | None = None
    errors: KeptFile | None = None
    problems: list[dict[str, Any]] = field(default_factory=list)
    done: int = 0
    failed: int = 0
    total: int = 0
    billed: list[str] = field(default_factory=list)


class Batches:
    """All of them. Safe for threads. A batch is worked off in a thread of its own as soon as it is created."""

    def __init__(self, script: Script, journal: Journal, files: Files) -> None:
        """None yet."""
        self._script = script
        self._journal = journal
        self._files = files
        self._kept: dict[str, _StoredBatch] = {}
        self._failed: Counter[str] = Counter()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Accept one.

        Raises:
            LookupError: its file is not there.
            ValueError: the request is none.
        """
        file = self._files.get(str(request.get("input_file_id")))
        if file is None:
            raise LookupError(f"No such File object: {request.get('input_file_id')}")
        if request.get("endpoint") not in (CHAT_ENDPOINT, RESPONSES_ENDPOINT):
            raise ValueError("Invalid endpoint")
        if request.get("completion_window") != "24h":
            raise ValueError("Invalid completion_window")
        marks = first_marks(file)
        with self._lock:
            kept = _StoredBatch(
                f"batch_{next(self._numbers):08d}", request["endpoint"], file, dict(request.get("metadata") or {}),
                marks, time.time(),
            )  # fmt: skip
            self._kept[kept.id] = kept
            kept.worker = threading.Thread(target=self._work, args=(kept,), name=kept.id)
            kept.worker.start()
            return self._shown(kept)

    def settle(self) -> None:
        """Wait until every batch was worked off."""
        with self._lock:
            workers = [kept.worker for kept in self._kept.values() if kept.worker is not None]
        for worker in workers:
            worker.join()

    def marks(self, id: str) -> Mapping[str, str]:
        """Return the marks of a batch's first line."""
        with self._lock:
            kept = self._kept.get(id)
            return {} if kept is None else kept.marks

    def marks_of_output(self, file_id: str) -> Mapping[str, str]:
        """Return the marks of the batch that a file came out of."""
        with self._lock:
            for kept in self._kept.values():
                if file_id in {file.id for file in (kept.output, kept.errors) if file is not None}:
                    return kept.marks
        return {}

    def poll(self, id: str) -> dict[str, Any] | None:
        """Return its state one poll later; None if it is not known."""
        with self._lock:
            kept = self._kept.get(id)
            if kept is None:
                return None
            kept.polls += 1
            self._advance(kept)
            return self._shown(kept)

    def cancel(self, id: str) -> dict[str, Any] | str | None:
        """Cancel it; None: it is not known; a text: why it cannot be."""
        with self._lock:
            kept = self._kept.get(id)
            if kept is None:
                return None
            if kept.status not in _LIVE:
                return f"Cannot cancel a batch with status '{kept.status}'."
            kept.status = "cancelling"
            return self._shown(kept)

    def page(self, limit: int, after: str | None) -> dict[str, Any]:
        """Return a page of them, the newest first."""
        with self._lock:
            newest = list(reversed(self._kept.values()))
            if after is not None:
                ids = [kept.id for kept in newest]
                newest = newest[ids.index(after) + 1 :] if after in ids else []
            page = newest[: min(limit, self._script.list_most)]
            data = [self._shown(kept) for kept in page]
        first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
        more = len(page) < len(newest)
        return {"object": "list", "data": data, "first_id": first, "last_id": last, "has_more": more}

    def _advance(self, kept: _StoredBatch) -> None:
        assert kept.worker is not None
        if kept.status not in _LIVE:
            return
        if kept.status == "cancelling":
            if not kept.worker.is_alive():
                self._take_back(kept)
            return
        fate = kept.marks.get("fate", "completed")
        live = int(kept.marks.get("polls") or self._script.batch_polls)
        early = kept.polls <= live or time.time() - kept.created < self._script.seconds
        if fate == "never" or early or kept.worker.is_alive():
            kept.status = "in_progress" if fate == "never" or early or kept.polls < live else "finalizing"
            return
        kept.status = "failed" if kept.problems else fate

    def _take_back(self, kept: _StoredBatch) -> None:
        """Cancel a batch in time: nothing was done, so nothing is billed."""
        kept.status, kept.output, kept.errors, kept.done, kept.failed = "cancelled", None, None, 0, 0
        self._journal.cancelled(*kept.billed)

    def _work(self, kept: _StoredBatch) -> None:
        """Answer every line; in the batch's own thread, without the lock."""
        fate = kept.marks.get("fate", "completed")
        kept.total = count = sum(1 for _ in kept.input.lines())
        early = self._number_of(kept) <= self._script.batch_failures
        if early or fate == "failed" or not 0 < count <= LINES_MAX:
            code = (
                "too_many_tasks" if count > LINES_MAX else (kept.marks.get("code") or self._script.batch_failure_code)
            )
            kept.problems = [{"code": code, "message": "the batch cannot be worked off", "line": None, "param": None}]
            return
        part = count if fate == "completed" else int(count * self._script.part_done)
        part = 0 if fate == "never" else part
        output, errors = self._files.new_path(), self._files.new_path()
        entries: list[Entry] = []
        with output.open("wb") as good, errors.open("wb") as bad:
            for number, line in enumerate(kept.input.lines()):
                if number >= part:
                    if fate == "expired":
                        bad.write(_unfinished(line))
                        kept.failed += 1
                    continue
                self._answer_line(kept, number, line, good=good, bad=bad, entries=entries)
        kept.billed = [entry.id for entry in entries]
        self._journal.add(*entries)
        kept.output = self._files.keep(output, purpose="batch_output") if output.stat().st_size else None
        kept.errors = self._files.keep(errors, purpose="batch_output") if errors.stat().st_size else None

    def _answer_line(
        self, kept: _StoredBatch, number: int, line: bytes, *, good: Any, bad: Any, entries: list[Entry]
    ) -> None:
        try:
            asked = json.loads(line)
            chat = kept.endpoint == CHAT_ENDPOINT
            ask: Ask = chat_ask(asked["body"]) if chat else response_ask(asked["body"])
        except (ValueError, KeyError, TypeError):
            kept.problems.append({"code": "invalid_json_line", "message": "no request", "line": number + 1})
            return
        if "missing" in ask.marks:
            return
        key, outcome = asked["custom_id"], answer(self._often_enough(ask))
        id = f"{kept.id}-{number}"
        entries.append(
            Entry(
                id, "batch", key, kept.metadata.get("ramet_submit"), ask.model, outcome.state,
                outcome.input_tokens, outcome.cached_tokens, outcome.output_tokens,
            )
        )  # fmt: skip
        if "garbled" in ask.marks:
            good.write(b'{"id": "x", "custom_id": "' + key.encode() + b'", "response": {"sta\n')
        elif outcome.state == "expired":
            bad.write(_unfinished(line))
            kept.failed += 1
        elif outcome.state in ("failed", "cancelled"):
            body = answers.error("the script says that it fails", code=outcome.code)
            bad.write(_line(id, key, answers.status_of(outcome.code), body))
            kept.failed += 1
        else:
            at = int(kept.created)
            if chat:
                body = answers.completion(id, at, ask.model, outcome)
            else:
                body = answers.response(id, at, asked["body"], outcome.state, outcome)
            good.write(_line(id, key, 200, body))
            kept.done += 1

    def _number_of(self, kept: _StoredBatch) -> int:
        """1 for the first batch that was created."""
        return int(kept.id.removeprefix("batch_"))

    def _often_enough(self, ask: Ask) -> Ask:
        """Return the request without its mark of a failure, once that came to pass as often as it says."""
        options = dict(part.split("=", 1) for part in ask.marks.get("failed", "").split() if "=" in part)
        if "times" not in options:
            return ask
        with self._lock:
            self._failed[ask.text] += 1
            over = self._failed[ask.text] > int(options["times"])
        return replace(ask, marks={name: ask.marks[name] for name in ask.marks if name != "failed"}) if over else ask

    def _shown(self, kept: _StoredBatch) -> dict[str, Any]:
        ended = kept.status not in _LIVE
        at = int(kept.created)
        return {
            "id": kept.id, "object": "batch", "endpoint": kept.endpoint, "status": kept.status,
            "input_file_id": kept.input.id, "completion_window": "24h", "created_at": at,
            "expires_at": at + WINDOW_SECONDS, "metadata": kept.metadata if self._script.keeps_metadata else None,
            "output_file_id": kept.output.id if ended and kept.output else None,
            "error_file_id": kept.errors.id if ended and kept.errors else None,
            "errors": {"object": "list", "data": kept.problems} if kept.status == "failed" else None,
            "request_counts": {
                "total": kept.total,
                "completed": kept.done if ended else 0,
                "failed": kept.failed if ended else 0,
            },
        }  # fmt: skip


def first_marks(file: KeptFile) -> Mapping[str, str]:
    """Return the marks in the first request of a file; none where that is not a request."""
    try:
        body = json.loads(file.first_line())["body"]
        return (chat_ask(body) if "messages" in body else response_ask(body)).marks
    except (ValueError, KeyError, TypeError):
        return {}


def _line(id: str, key: str, status: int, body: Any) -> bytes:
    answer = {"status_code": status, "request_id": f"req_{id}", "body": body}
    return json.dumps({"id": id, "custom_id": key, "response": answer, "error": None}).encode() + b"\n"


def _unfinished(line: bytes) -> bytes:
    """Return the line of the error file that tells of a request which the window ended before."""
    message = "This request could not be executed before the completion window expired."
    error = {"code": "batch_expired", "message": message}
    key = json.loads(line)["custom_id"]
    return json.dumps({"id": f"late-{key}", "custom_id": key, "response": None, "error": error}).encode() + b"\n"
