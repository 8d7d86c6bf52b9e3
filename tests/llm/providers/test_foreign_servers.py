"""What the servers of others can do, so that a test that relies on it does not pass for another reason."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

import pytest

from tests.llm.providers.foreign_servers import AiMock, LlMock, Server
from tests.support.waiting import HANG_SECONDS

pytestmark = pytest.mark.process

BACKGROUND = {"model": "gpt-5.2", "input": "hello", "background": True, "store": True}


def status(server: Server, method: str, path: str, body: str | None = None) -> int:
    host = urlsplit(server.url)
    connection = http.client.HTTPConnection(host.hostname or "", host.port, timeout=HANG_SECONDS)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json", "Authorization": "Bearer k"})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.fixture(params=["llmock", "aimock"])
def server(request: pytest.FixtureRequest) -> LlMock | AiMock:
    found: LlMock | AiMock = request.getfixturevalue(request.param)
    return found


def test_none_of_them_speaks_background_mode(server: LlMock | AiMock) -> None:
    """A test of background mode against one of them would pass without a single look."""
    answer = server.ask("POST", "/v1/responses", BACKGROUND)
    assert answer["status"] == "completed"
    assert status(server, "GET", f"/v1/responses/{answer['id']}") == 404


def test_a_journal_tells_what_was_asked_and_is_emptied(server: LlMock | AiMock) -> None:
    server.ask("POST", "/v1/responses", BACKGROUND)
    assert [(request["method"], request["path"]) for request in server.requests()] == [("POST", "/v1/responses")]
    assert server.requests("GET") == []
    server.reset()
    assert server.requests() == []


def test_llmock_fails_as_often_as_it_is_told(llmock: LlMock) -> None:
    llmock.script(type="fail", status=503, times=1, match={"path": "/v1/batches*"})
    assert status(llmock, "GET", "/v1/models") == 200
    assert [status(llmock, "GET", "/v1/batches") for _ in range(2)] == [503, 200]


def test_aimock_cuts_the_connection_without_an_answer(aimock: AiMock) -> None:
    aimock.fault("disconnect")
    with pytest.raises(http.client.RemoteDisconnected):
        status(aimock, "GET", "/v1/batches")
    aimock.reset()
    assert status(aimock, "GET", "/v1/batches") == 200


def test_aimock_has_no_batches_of_anthropic(aimock: AiMock) -> None:
    assert status(aimock, "POST", "/v1/messages/batches", "{}") == 404
