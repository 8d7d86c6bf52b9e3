"""What may stand on the deny list, and what an entry covers (DESIGN §5, check 7)."""

from __future__ import annotations

import pytest

from ramet.model.keys import KEY_LENGTH_MAX
from ramet.model.lineage.deny_list import InvalidEntry, StopEntry, entry_value, host_of, matches, names_above


@pytest.mark.parametrize(
    ("entry_type", "value", "stored"),
    [
        ("host", "Example.COM", "example.com"),
        ("host", " example.com. ", "example.com"),
        ("host", "localhost", "localhost"),
        ("host", "bücher.example", "xn--bcher-kva.example"),
        ("host", "192.168.0.1", "192.168.0.1"),
        ("host", "[2001:db8::1]", "[2001:db8::1]"),
        ("domain", "Example.com", "example.com"),
        ("pattern", "X*", "X*"),
        ("domain", "*.example.com", "example.com"),
        ("pattern", " http://a/*?x ", " http://a/*?x "),
        ("pattern", "https://Stripe.com", "https://stripe.com/"),
        ("pattern", "https://stripe.com/", "https://stripe.com/"),
        ("pattern", "HTTPS://Stripe.com:443/Jobs/../a#top", "https://stripe.com/a"),
        ("pattern", "HTTPS://Stripe.com:443/Jobs/*", "https://stripe.com/Jobs/*"),
        ("pattern", "https://Stripe.com/a?x=*", "https://stripe.com/a?x=*"),
        ("pattern", "https://*.Stripe.com/a", "https://*.Stripe.com/a"),
        ("pattern", "https://Stripe.com/b/../a?", "https://stripe.com/b/../a?"),
        ("pattern", "https://Stripe.com/b/../*", "https://stripe.com/b/../*"),
        ("pattern", "https://a b/*", "https://a b/*"),
        ("pattern", "x" * KEY_LENGTH_MAX, "x" * KEY_LENGTH_MAX),
    ],
)
def test_an_entry_is_kept_in_the_form_of_keys(entry_type: str, value: str, stored: str) -> None:
    assert entry_value(entry_type, value) == stored


@pytest.mark.parametrize(
    ("entry_type", "value", "words"),
    [
        ("site", "example.com", "no entry type 'site': give one of host, domain, pattern"),
        ("host", "example.com/a", "'example.com/a' is not a valid host: give the name alone, as in example.com"),
        ("domain", "me@example.com", "'me@example.com' is not a valid domain: give the name alone, as in example.com"),
        ("host", "exa mple.com", "'exa mple.com' is not a valid host: "),
        ("host", "b\xfccher..example", "'b\\xfccher..example' is not a valid host: "),
        ("host", "", "'' is not a valid host: "),
        ("host", "example.com:80", "'example.com:80' is not a valid host: give the name alone, without a port"),
        ("host", "example.com:8080", "'example.com:8080' is not a valid host: give the name alone, without a port"),
        ("host", "example.com?q", "'example.com?q' is not a valid host: give the name alone, without a port"),
        ("domain", ":80", "':80' is not a valid domain: "),
        ("host", "*.Example.com", "'*.Example.com' is not a host: give it as the domain example.com"),
        ("domain", "com", "com is not a domain that has others below it: give it as a host, or a name such as a.com"),
        ("domain", "10.0.0.1",
         "10.0.0.1 is not a domain that has others below it: give it as a host, or a name such as a.10.0.0.1"),
        ("pattern", "", f"a pattern has 1 to {KEY_LENGTH_MAX} characters: this one has 0"),
        ("pattern", "x" * (KEY_LENGTH_MAX + 1),
         f"a pattern has 1 to {KEY_LENGTH_MAX} characters: this one has {KEY_LENGTH_MAX + 1}"),
        ("pattern", "*?*", "the pattern *?* would stop everything: give something that keys contain"),
        ("pattern", "a\0b", "the pattern has a character that no key has: remove it"),
        ("pattern", "a\ud800b", "the pattern has a character that no key has: remove it"),
    ],
)  # fmt: skip
def test_what_cannot_be_an_entry_is_refused_in_words(entry_type: str, value: str, words: str) -> None:
    with pytest.raises(InvalidEntry) as caught:
        entry_value(entry_type, value)
    assert str(caught.value).startswith(words)
    if not words.endswith(": "):
        assert str(caught.value) == words


def test_an_entry_in_words_has_its_reason_where_there_is_one() -> None:
    assert str(StopEntry("host", "a.example", None, "ada", 0.0)) == "host a.example"
    assert str(StopEntry("host", "a.example", "spam", "ada", 0.0)) == "host a.example (spam)"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://a.example:81/x", "a.example"),
        ("HTTPS://a.example?x", "a.example"),
        ("svn+ssh://a.example#x", "a.example"),
        ("http://[::1]:81/", "[::1]"),
        ("http:///x", None),
        ("a.example/x", None),
        ("see http://a.example/", None),
    ],
)
def test_the_host_of_a_url(url: str, host: str | None) -> None:
    assert host_of(url) == host


def test_a_name_is_below_all_domains_above_it_and_an_address_below_none() -> None:
    assert names_above("a.b.example") == ["a.b.example", "b.example", "example"]
    assert names_above("localhost") == ["localhost"]
    assert names_above("10.0.0.1") == ["10.0.0.1"]
    assert names_above("[2001:db8::1.2.3.4]") == ["[2001:db8::1.2.3.4]"]


@pytest.mark.parametrize(
    ("pattern", "key", "covered"),
    [
        ("http://a/*", "http://a/", True),
        ("http://a/*", "http://a/b\nc", True),
        ("http://a/?", "http://a/b", True),
        ("http://a/?", "http://a/", False),
        ("a", "ab", False),
        ("b", "ab", False),
        ("http://[::1]/[ab]", "http://[::1]/[ab]", True),
        ("http://[::1]/[ab]", "http://[::1]/a", False),
        ("a.b", "axb", False),
        ("A", "a", False),
    ],
)
def test_a_pattern_covers_whole_keys_and_only_stars_and_question_marks_are_special(
    pattern: str, key: str, covered: bool
) -> None:
    assert matches(pattern, key) is covered
