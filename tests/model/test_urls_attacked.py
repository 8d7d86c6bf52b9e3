"""What an attacker would try against canonical URLs: several rules at once, and data that looks like them."""

from __future__ import annotations

import pytest

from ramet.model.keys import InvalidKey, url_key

DATA = [
    ("http://example.org/a/%2e%2e%2Fb", "http://example.org/a/..%2Fb"),
    ("http://example.org/a%2F..%2Fb", "http://example.org/a%2F..%2Fb"),
    ("http://example.org/..%3B", "http://example.org/..%3B"),
    ("http://example.org/a%3Bjsessionid=1", "http://example.org/a%3Bjsessionid=1"),
    ("http://example.org/?x=1;sid=2", "http://example.org/?x=1;sid=2"),
    ("http://example.org/?x=1?sid=2", "http://example.org/?x=1?sid=2"),
    ("http://example.org/?a=1&amp;b=2", "http://example.org/?a=1&amp;b=2"),
    ("http://example.org/?+sid=x", "http://example.org/?%20sid=x"),
    ("http://example.org/%u0041", "http://example.org/%25u0041"),
    ("http://example.org/%c0%ae%c0%ae/a", "http://example.org/%C0%AE%C0%AE/a"),
    ("http://example.org/%23!a", "http://example.org/%23!a"),
    ("http://example.org/page.", "http://example.org/page."),
    ("http://example.org/page%20", "http://example.org/page%20"),
    ("http://example.org/http://other.example/", "http://example.org/http:/other.example"),
]
TWINS = [
    ("http://example.org/a/..;/..;x/;/b", "http://example.org/..%3Bx/b"),
    ("http://example.org/.;/;;;/b/;jsessionid", "http://example.org/b"),
    ("http://EXAMPLE%2eorg.:080/%7E?&&a=&#!", "http://example.org/~?a"),
    ("http://a．example。org/", "http://a.example.org/"),
    ("http://a%E3%80%82example.org/", "http://a.example.org/"),
    ("http://ⓔxample.org/?%75tm_source[]=1&b=", "http://example.org/?b"),
    ("http://u@h:p@0x7f.0.0.0x1:80//?phpsessid", "http://127.0.0.1/"),
    ("http://[::127.0.0.1]:80/?#", "http://[::7f00:1]/"),
]
INVALID = [
    "http://[::%31]/", "http://%5B::1%5D/", "http://example%2Eorg%3A80/", "http://example.org%20/",
    "http://example.org:+80/", "http://example.org:8_0/", "http://a\u2024example.org/",
]  # fmt: skip


@pytest.mark.parametrize(("raw", "key"), DATA)
def test_what_only_looks_like_a_twin_stays_apart(raw: str, key: str) -> None:
    """A twin that is missed costs a fetch; of two pages that are taken for one the second is lost."""
    assert url_key(raw) == key
    assert url_key(key) == key


@pytest.mark.parametrize(("raw", "key"), TWINS)
def test_several_rules_at_once_give_the_canonical_key(raw: str, key: str) -> None:
    assert url_key(raw) == key
    assert url_key(key) == key


@pytest.mark.parametrize("url", INVALID)
def test_a_host_or_port_in_disguise_is_refused(url: str) -> None:
    with pytest.raises(InvalidKey, match="give"):
        url_key(url)
