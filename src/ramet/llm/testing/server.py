"""State of the stand-in, and what a call needs of the server that it came to."""

from __future__ import annotations

import hashlib
import itertools
import json
import socket
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NoReturn, Protocol, cast
from urllib.parse import parse_qs, urlsplit

from ramet.llm.testing import answers
from ramet.llm.testing.answers import answer, chat_ask, response_ask, tokens
from ramet.llm.testing.batches import Batches, Files, KeptFile, first_marks
from ramet.llm.testing.journal import Entry, Journal
from ramet.llm.testing.responses import Responses
from ramet.llm.testing.script import Fault, Faults, Script, script_from

REMEMBERED_MAX = 10_000


class World:
    """All that the stand-in knows, for one script."""

    def __init__(self, script: Script, folder: Path) -> None:
        """Nothing was asked yet."""
        self.script = script
        self.journal = Journal()
        self.faults = Faults(script)
        self.limiter = Limiter(script.requests_per_minute, script.tokens_per_minute)
        self.files = Files(folder)
        self.responses = Responses(script, self.journal)
        self.batches = Batches(script, self.journal, self.files)
        self.numbers = itertools.count(1)
        self.calls: deque[dict[str, Any]] = deque(maxlen=REMEMBERED_MAX)
        """The last calls: ``method``, ``path``, ``headers`` (lower case), ``answered`` (a status or a fault)."""
        self.statuses: deque[str] = deque(maxlen=REMEMBERED_MAX)
        """The last states of responses and batches that were shown."""


class Running(Protocol):
    """The part of a running stand-in that its calls use."""

    world: World
    stopping: threading.Event

    def begin(self, script: Script) -> None:
        """Forget everything and follow another script."""
        ...


def hang_up(connection: socket.socket) -> None:
    """End a connection, whatever was on its way."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        # The client was faster.
        return


class Limiter:
    """Requests and tokens a minute, each refilled evenly. Safe for threads."""

    def __init__(self, requests: int | None, tokens: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Full; None: no limit."""
        self._limits = {"requests": requests, "tokens": tokens}
        self._left = {of: float(limit) for of, limit in self._limits.items() if limit is not None}
        self._clock = clock
        self._at = clock()
        self._lock = threading.Lock()

    def take(self, tokens: int) -> float:
        """Take one request of ``tokens``; return 0 if it was taken, else the seconds until there may be room."""
        with self._lock:
            self._refill()
            wanted = {"requests": 1.0, "tokens": float(tokens)}
            waits = [
                (wanted[of] - left) * 60.0 / (self._limits[of] or 1)
                for of, left in self._left.items()
                if left < min(wanted[of], self._limits[of] or 0)
            ]
            if waits:
                return max(waits)
            for of in self._left:
                self._left[of] -= wanted[of]
            return 0.0

    def headers(self) -> dict[str, str]:
        """``x-ratelimit-...``, as OpenAI names them; none without a limit."""
        found = {}
        with self._lock:
            self._refill()
            for of, left in self._left.items():
                limit = self._limits[of] or 0
                found[f"x-ratelimit-limit-{of}"] = str(limit)
                found[f"x-ratelimit-remaining-{of}"] = str(max(0, int(left)))
                found[f"x-ratelimit-reset-{of}"] = period((limit - left) * 60.0 / max(limit, 1))
        return found

    def _refill(self) -> None:
        now = self._clock()
        for of in self._left:
            limit = self._limits[of] or 0
            self._left[of] = min(float(limit), self._left[of] + (now - self._at) * limit / 60.0)
        self._at = now


def period(seconds: float) -> str:
    """Seconds as OpenAI writes them: ``20ms``, ``1.5s``, ``6m0s``."""
    if seconds < 1.0:
        return f"{max(0, round(seconds * 1000))}ms"
    minutes, rest = divmod(seconds, 60.0)
    return f"{int(minutes)}m{rest:.3g}s" if minutes else f"{rest:.3g}s"


LOOPBACK = "127.0.0.1"


class StandIn:
    """A running stand-in. A context manager; leaving it ends every connection and thread.

    ``url`` is what the SDK calls ``base_url``. A new `script` can be given at any time: then all is forgotten.
    """

    def __init__(self, script: Script | None = None, *, port: int = 0) -> None:
        """Listen on a port of this machine; 0: one that is free."""
        self._folder = tempfile.TemporaryDirectory(prefix="ramet-standin-")
        self._worlds = 0
        self.stopping = threading.Event()
        self.world = self._new_world(script or Script())
        self._server = _Server((LOOPBACK, port), Handler)
        self._server.standin = self
        self.port: int = self._server.server_address[1]
        self.url = f"http://{LOOPBACK}:{self.port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="stand-in")

    def begin(self, script: Script) -> None:
        """Forget everything and follow another script."""
        self.world.batches.settle()
        self.world = self._new_world(script)

    def start(self) -> StandIn:
        """Answer calls from now on."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End every connection and thread, and remove what was kept on disk."""
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.end_connections()
        self._server.server_close()
        self.world.batches.settle()
        self._folder.cleanup()

    def __enter__(self) -> StandIn:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _new_world(self, script: Script) -> World:
        self._worlds += 1
        folder = Path(self._folder.name) / str(self._worlds)
        folder.mkdir()
        return World(script, folder)


class _Server(ThreadingHTTPServer):
    # A thread that is joined has given its connection back.
    daemon_threads = False
    request_queue_size = 256
    standin: StandIn

    def __init__(self, *arguments: Any) -> None:
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        """Wake every thread that waits for a client."""
        with self._lock:
            for connection in self._open:
                hang_up(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that went away; write anything else to standard error."""
        import sys

        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


_BODY_BYTES_MAX = 64 * 1024 * 1024


class _CallAnswered(Exception):
    """The call was answered."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    # Answers are small and go out at once.
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer a call that only reads."""
        self._route("GET")

    def do_POST(self) -> None:
        """Answer a call that changes something."""
        self._route("POST")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the world keeps a list."""

    def _route(self, method: str) -> None:
        address = urlsplit(self.path)
        self._query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        self._world: World = self._standin.world
        self._fault: Fault | None = None
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._call: dict[str, Any] = {"method": method, "path": address.path, "headers": headers, "answered": None}
        self._world.calls.append(self._call)
        if self._world.script.latency_seconds:
            self._standin.stopping.wait(self._world.script.latency_seconds)
        parts = [part for part in address.path.split("/") if part]
        try:
            self._answer_call(method, parts[1:] if parts[:1] == ["v1"] else ["", *parts])
        except _CallAnswered:
            return

    @property
    def _standin(self) -> Running:
        standin: Running = getattr(self.server, "standin")  # noqa: B009 - the base class does not know it
        return standin

    def _answer_call(self, method: str, parts: list[str]) -> None:
        match method, parts:
            case "POST", ["chat", "completions"]:
                self._complete()
            case "POST", ["responses"]:
                self._respond()
            case "GET", ["responses", id]:
                self._look(self._world.responses.poll, id, "poll", self._world.responses.marks(id))
            case "POST", ["responses", id, "cancel"]:
                self._look(self._world.responses.cancel, id, "cancel", self._world.responses.marks(id))
            case "POST", ["files"]:
                self._upload()
            case "GET", ["files", id, "content"]:
                self._content(id)
            case "POST", ["batches"]:
                self._batch()
            case "GET", ["batches"]:
                self._meet("list", "list", {})
                self._json(200, self._world.batches.page(int(self._query.get("limit", 20)), self._query.get("after")))
            case "GET", ["batches", id]:
                self._look(self._world.batches.poll, id, "poll", self._world.batches.marks(id))
            case "POST", ["batches", id, "cancel"]:
                self._look(self._world.batches.cancel, id, "cancel", self._world.batches.marks(id))
            case _, ["", *rest]:
                self._control(method, rest)
            case _:
                self._read()
                self._json(404, answers.error(f"Invalid URL ({method} {self.path})"))

    def _control(self, method: str, parts: list[str]) -> None:
        """Answer what only tests and people ask."""
        world = self._world
        match method, parts:
            case "GET", ["journal"]:
                world.batches.settle()
                self._json(200, world.journal.as_json())
            case "GET", ["calls"]:
                self._json(200, {"calls": list(world.calls)[:-1], "statuses": list(world.statuses)})
            case "POST", ["script"]:
                try:
                    script = script_from(self._json_body())
                except (ValueError, TypeError) as error:
                    self._json(400, answers.error(str(error)))
                self._standin.begin(script)
                self._json(200, {"script": "taken"})
            case _:
                self._read()
                self._json(404, answers.error("there is nothing here"))

    def _complete(self) -> None:
        body = self._json_body()
        ask = self._checked(chat_ask, body)
        self._admit(ask.text)
        self._meet("submit", _digest(ask.text), ask.marks)
        outcome = answer(ask)
        id = f"chatcmpl-{next(self._world.numbers):08d}-{_digest(ask.text)[:8]}"
        self._world.journal.add(
            Entry(
                id, "chat", None, None, ask.model, outcome.state,
                outcome.input_tokens, outcome.cached_tokens, outcome.output_tokens,
            )
        )  # fmt: skip
        if outcome.state in ("failed", "cancelled", "expired"):
            status = answers.status_of(outcome.code)
            self._json(status, answers.error("the script says that it fails", code=outcome.code))
        self._json(200, answers.completion(id, int(time.time()), ask.model, outcome))

    def _respond(self) -> None:
        body = self._json_body()
        ask = self._checked(response_ask, body)
        self._admit(ask.text)
        self._meet("submit", _digest(ask.text), ask.marks)
        self._json(200, self._world.responses.create(body))

    def _upload(self) -> None:
        try:
            length = int(self.headers.get("content-length") or 0)
            file = self._world.files.receive(cast(BinaryIO, self.rfile), length, self.headers.get("content-type", ""))
        except ValueError as error:
            self.close_connection = True
            self._json(400, answers.error(str(error)))
        self._meet("upload", _digest_of(file), first_marks(file))
        self._json(200, file.as_json())

    def _batch(self) -> None:
        body = self._json_body()
        file = self._world.files.get(str(body.get("input_file_id")))
        if file is not None:
            fault = self._fault = self._world.faults.next("batch", _digest_of(file), first_marks(file))
            if fault is not None and fault.status == 404:
                # As it is for a moment after an upload.
                self._fault = None
                self._json(404, answers.error(f"No such File object: {file.id}", param="input_file_id"))
            self._suffer(fault)
        try:
            self._json(200, self._world.batches.create(body))
        except LookupError as error:
            self._json(404, answers.error(str(error).strip("'\""), param="input_file_id"))
        except ValueError as error:
            self._json(400, answers.error(str(error)))

    def _look(
        self, verb: Callable[[str], dict[str, Any] | str | None], id: str, on: str, marks: Mapping[str, str]
    ) -> None:
        """Poll or cancel something."""
        self._read()
        self._meet(on, id, marks)
        found = verb(id)
        if found is None:
            self._json(404, answers.error(f"No such object with id '{id}' found.", param="id"))
        if isinstance(found, str):
            self._json(409, answers.error(found))
        self._json(200, found)

    def _content(self, id: str) -> None:
        file = self._world.files.get(id)
        if file is None:
            self._json(404, answers.error(f"No such File object: {id}", param="id"))
        marks = self._world.batches.marks_of_output(id)
        fault = self._world.faults.next("results", id, marks)
        if fault is not None and fault.status is not None:
            self._refuse(fault)
        self._call["answered"] = fault.kind if fault else 200
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(file.size))
        self.end_headers()
        for part in file.parts(file.size // 2 if fault else None):
            self.wfile.write(part)
        self.wfile.flush()
        if fault:
            self._drop()

    def _admit(self, text: str) -> None:
        wait = self._world.limiter.take(tokens(text))
        if wait:
            self._refuse(Fault("429", f"{wait:.3f}"))

    def _meet(self, on: str, whose: str, marks: Mapping[str, str]) -> None:
        """Apply the fault of this call: one that comes before it is accepted ends it here."""
        self._fault = self._world.faults.next(on, whose, marks)
        self._suffer(self._fault)

    def _suffer(self, fault: Fault | None) -> None:
        if fault is None:
            return
        if fault.status is not None:
            self._refuse(fault)
        if fault.kind == "drop":
            self._call["answered"] = "drop"
            self._drop()

    def _refuse(self, fault: Fault) -> NoReturn:
        status = fault.status or 500
        self._fault = None
        headers = {} if fault.after is None else {"Retry-After": fault.after}
        code = fault.code or ("rate_limit_exceeded" if status == 429 else None)
        kind = "invalid_request_error" if status < 500 and status != 429 else "server_error"
        self._json(status, answers.error(f"the script says {status}", kind=kind, code=code), headers)

    def _json(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> NoReturn:
        """Answer, or do to the answer what the fault of this call says; the call is over then."""
        content = json.dumps(body).encode()
        fault = self._fault
        self._call["answered"] = status if fault is None else fault.kind
        if fault is not None and fault.kind == "drop_accepted":
            self._drop()
        if fault is not None and fault.kind == "hang":
            self._standin.stopping.wait()
            self._drop()
        if fault is not None and fault.kind == "malformed":
            content = content[: len(content) // 2]
        if isinstance(body, dict) and body.get("object") in ("response", "batch"):
            self._world.statuses.append(body["status"])
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in {**self._world.limiter.headers(), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()
        raise _CallAnswered

    def _drop(self) -> NoReturn:
        self.close_connection = True
        hang_up(self.connection)
        raise _CallAnswered

    def _read(self) -> bytes:
        """Return the call's body."""
        length = int(self.headers.get("content-length") or 0)
        if length > _BODY_BYTES_MAX:
            self.close_connection = True
            self._json(413, answers.error("the request is too large"))
        return self.rfile.read(length)

    def _json_body(self) -> dict[str, Any]:
        try:
            body = json.loads(self._read() or b"{}")
        except ValueError:
            body = None
        if not isinstance(body, dict):
            self._json(400, answers.error("We could not parse the JSON body of your request."))
        return body

    def _checked(self, reader: Callable[[Mapping[str, Any]], Any], body: Mapping[str, Any]) -> Any:
        try:
            return reader(body)
        except (ValueError, AttributeError, TypeError) as error:
            self._json(400, answers.error(str(error)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _digest_of(file: KeptFile) -> str:
    """Tells one batch from another by its first line, so that it is known again when it is uploaded again."""
    return hashlib.sha256(file.first_line()).hexdigest()
