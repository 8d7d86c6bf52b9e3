"""Whatever servers say in headers and files, reading it gives an answer and raises nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramet.fetch.errors import Refused, failure_of, retry_after_seconds
from ramet.fetch.fetcher import LoopFetchers
from ramet.fetch.host_pace import HostPace
from ramet.fetch.messages import charset_of, text_of_bytes
from ramet.fetch.robots import rules_of

pytest.importorskip("protego", reason="the extra [fetch] is not installed")

HOSTS = HostPace(LoopFetchers(lambda: pytest.fail("nothing is fetched")), "host:")
ROBOTS = st.lists(
    st.one_of(
        st.text(max_size=40),
        st.builds(
            lambda field, between, value: field + between + value,
            st.sampled_from(
                ["User-agent", "useragent", "Disallow", "Allow", "Crawl-delay", "Request-rate", "Visit-time", "Host"]
            ),
            st.sampled_from([":", ": ", " ", " : "]),
            st.one_of(st.text(max_size=30), st.sampled_from(["*", "ramet-jobs", "/*$", "1e999", "nan", "%", "//[::1"])),
        ),
    ),
    max_size=12,
).map("\n".join)
URLS = st.one_of(st.text(max_size=60), st.text(max_size=40).map("https://{}".format))


@given(
    st.binary(max_size=300), st.one_of(st.text(max_size=60), st.text(max_size=20).map("text/html; charset={}".format))
)
def test_any_bytes_are_some_text(body: bytes, header: str) -> None:
    assert isinstance(text_of_bytes(body, header), str)
    assert "ascii".encode(charset_of(body, header))


@given(ROBOTS)
@settings(max_examples=200)
def test_any_robots_txt_says_yes_or_no(text: str) -> None:
    rules = rules_of(text, "ramet-jobs")
    assert rules.allow("https://a.example/jobs?x=1") in (True, False)
    assert rules.crawl_delay is None or 0.0 <= rules.crawl_delay < float("inf")


@given(st.text(max_size=80), st.floats(0, 4e9))
def test_any_time_to_come_back_is_some_seconds_or_none(text: str, now: float) -> None:
    seconds = retry_after_seconds(text, now)
    assert seconds is None or seconds >= 0.0


@given(URLS, st.integers(100, 599))
def test_any_address_is_named_in_one_line(url: str, status: int) -> None:
    said = ""
    try:
        name = HOSTS.resource_of(url)
    except Refused as refused:
        name, said = "", str(refused)
    failure = failure_of(url, status, {}, 0.0) if name else None
    assert "\n" not in f"{said}{failure}"
    assert name.isprintable()
    assert len(name) <= 300
