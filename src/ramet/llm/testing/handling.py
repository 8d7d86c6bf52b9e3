"""What the stand-in answers to a call."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any, BinaryIO, NoReturn, cast
from urllib.parse import parse_qs, urlsplit

from ramet.llm.testing import shapes
from ramet.llm.testing.answers import answer, chat_ask, response_ask, tokens
from ramet.llm.testing.batches import first_marks
from ramet.llm.testing.files import KeptFile
from ramet.llm.testing.journal import Entry
from ramet.llm.testing.script import Fault, script_from
from ramet.llm.testing.world import Running, World, hang_up

_BODY_BYTES_MAX = 64 * 1024 * 1024


class _Over(Exception):
    """The call was answered."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    # Answers are small and go out at once.
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """A call that only looks."""
        self._route("GET")

    def do_POST(self) -> None:
        """A call that changes something."""
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
        except _Over:
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
                self._json(404, shapes.error(f"Invalid URL ({method} {self.path})"))

    def _control(self, method: str, parts: list[str]) -> None:
        """What only tests and people ask."""
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
                    self._json(400, shapes.error(str(error)))
                self._standin.begin(script)
                self._json(200, {"script": "taken"})
            case _:
                self._read()
                self._json(404, shapes.error("there is nothing here"))

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
            status = 500 if outcome.code == "server_error" else 400
            self._json(status, shapes.error("the script says that it fails", code=outcome.code))
        self._json(200, shapes.completion(id, int(time.time()), ask.model, outcome))

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
            self._json(400, shapes.error(str(error)))
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
                self._json(404, shapes.error(f"No such File object: {file.id}", param="input_file_id"))
            self._suffer(fault)
        try:
            self._json(200, self._world.batches.create(body))
        except LookupError as error:
            self._json(404, shapes.error(str(error).strip("'\""), param="input_file_id"))
        except ValueError as error:
            self._json(400, shapes.error(str(error)))

    def _look(
        self, verb: Callable[[str], dict[str, Any] | str | None], id: str, on: str, marks: Mapping[str, str]
    ) -> None:
        """Poll or cancel something."""
        self._read()
        self._meet(on, id, marks)
        found = verb(id)
        if found is None:
            self._json(404, shapes.error(f"No such object with id '{id}' found.", param="id"))
        if isinstance(found, str):
            self._json(409, shapes.error(found))
        self._json(200, found)

    def _content(self, id: str) -> None:
        file = self._world.files.get(id)
        if file is None:
            self._json(404, shapes.error(f"No such File object: {id}", param="id"))
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
        """The fault of this call: one that comes before it is accepted ends it here."""
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
        code = "rate_limit_exceeded" if status == 429 else None
        kind = "invalid_request_error" if status < 500 and status != 429 else "server_error"
        self._json(status, shapes.error(f"the script says {status}", kind=kind, code=code), headers)

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
        raise _Over

    def _drop(self) -> NoReturn:
        self.close_connection = True
        hang_up(self.connection)
        raise _Over

    def _read(self) -> bytes:
        """The call's body."""
        length = int(self.headers.get("content-length") or 0)
        if length > _BODY_BYTES_MAX:
            self.close_connection = True
            self._json(413, shapes.error("the request is too large"))
        return self.rfile.read(length)

    def _json_body(self) -> dict[str, Any]:
        try:
            body = json.loads(self._read() or b"{}")
        except ValueError:
            body = None
        if not isinstance(body, dict):
            self._json(400, shapes.error("We could not parse the JSON body of your request."))
        return body

    def _checked(self, reader: Callable[[Mapping[str, Any]], Any], body: Mapping[str, Any]) -> Any:
        try:
            return reader(body)
        except (ValueError, AttributeError, TypeError) as error:
            self._json(400, shapes.error(str(error)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _digest_of(file: KeptFile) -> str:
    """Tells one batch from another by its first line, so that it is known again when it is uploaded again."""
    return hashlib.sha256(file.first_line()).hexdigest()
