"""Keys of titles, texts and payloads: twins share one, it is bounded, and it is its own key (DESIGN §5)."""

import json
import math
from collections.abc import Callable
from decimal import Decimal
from enum import IntEnum, StrEnum
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unicodedata import is_normalized, normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ramet.model.keys import (
    KEY_LENGTH_MAX,
    KEY_VERSION,
    PAYLOAD_DEPTH_MAX,
    InvalidKey,
    bounded_key,
    display_key,
    json_key,
    text_key,
    title_key,
    url_key,
)

CORPUS = Path(__file__).parents[2].parent / "shared" / "wiki-corpus"

TITLES = [
    # underscores and whitespace
    ("Mercury (planet)", "Mercury (planet)"),
    ("Mercury_(planet)", "Mercury (planet)"),
    ("__Mercury__(planet)_", "Mercury (planet)"),
    ("  Mercury \t\n (planet) ", "Mercury (planet)"),
    ("Mercury\u00a0(planet)", "Mercury (planet)"),
    ("Mercury\u2003_\u3000(planet)", "Mercury (planet)"),
    # first letter
    ("mercury (planet)", "Mercury (planet)"),
    ("iPod", "IPod"),
    ("ABBA", "ABBA"),
    ("mERCURY", "MERCURY"),
    ("_mercury", "Mercury"),
    ("1st", "1st"),
    ("(a)", "(a)"),
    ("!kung", "!kung"),
    # elsewhere case is kept
    ("New york", "New york"),
    ("category:trees", "Category:trees"),
    # one-to-one maps only
    ("ß", "ß"),
    ("ŉ", "ŉ"),
    ("ǰ", "ǰ"),
    ("ﬁre", "ﬁre"),
    ("ΐ", "ΐ"),
    ("ÿ", "Ÿ"),
    ("µ", "Μ"),
    ("ı", "I"),
    ("ǆ", "Ǆ"),
    ("ǅ", "ǅ"),
    ("i\u0307stanbul", "İstanbul"),
    # NFD and other compositions
    ("e\u0301cole", "École"),
    ("école", "École"),
    ("École", "École"),
    ("Cafe\u0301", "Café"),
    ("A\u030angstro\u0308m", "Ångström"),
    ("\u212bngström", "Ångström"),
    ("Vie\u0323\u0302t", "Việt"),
    ("\u1112\u1161\u11ab", "한"),
    ("が", "が"),
    ("か\u3099", "が"),
    # not NFKC
    ("ｆullwidth", "Ｆullwidth"),
    ("H²O", "H²O"),
    # non-Latin
    ("меркурий", "Меркурий"),
    ("ёлка", "Ёлка"),
    ("αθήνα", "Αθήνα"),
    ("հայաստան", "Հայաստան"),
    ("საქართველო", "საქართველო"),
    ("日本", "日本"),
    ("مريخ", "مريخ"),
    ("می\u200cخواهم", "می\u200cخواهم"),
    ("हिन्दी", "हिन्दी"),
    ("𐐨𐐩", "𐐀𐐩"),
    ("😀", "😀"),
    ("ā latgalian title", "Ā latgalian title"),
    # direction marks
    ("\u200eMercury\u200f", "Mercury"),
    ("e\u200e\u0301", "É"),
    # fragment
    ("Mercury#Orbit", "Mercury"),
    ("mercury_#a#b", "Mercury"),
    ("C♯ (musical note)", "C♯ (musical note)"),
    # percent-decoding is not done
    ("100%25", "100%25"),
    ("Caf%C3%A9", "Caf%C3%A9"),
]
DIFFERENT_TITLES = [
    ("New York", "New york"),
    ("Mercury (planet)", "Mercury (element)"),
    ("Café", "Cafe"),
    ("H²O", "H2O"),
    ("A-b", "A–b"),
    ("Caf%C3%A9", "Café"),
    ("A b", "Ab"),
    ("Дом", "Dом"),
]

PAYLOADS: list[tuple[dict[str, Any], str]] = [
    ({}, "{}"),
    ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
    ({"a": {"d": [1, (2, 3)], "c": None}}, '{"a":{"c":null,"d":[1,[2,3]]}}'),
    ({"a": True, "b": False}, '{"a":true,"b":false}'),
    ({"a": 1.0, "b": 1e2, "c": -0.0, "d": 1e300}, f'{{"a":1,"b":100,"c":0,"d":{int(1e300)}}}'),
    ({"a": 0.1, "b": 1.5e-7, "c": -2.5}, '{"a":0.1,"b":1.5e-07,"c":-2.5}'),
    ({"a": 2**53 + 1}, '{"a":9007199254740993}'),
    ({"é": "日本 😀", "a": '"\\/\n'}, '{"a":"\\"\\\\/\\n","é":"日本 😀"}'),
    ({"a": MappingProxyType({"b": 1})}, '{"a":{"b":1}}'),
    ({"A": 1, "a": 2, "B": 3}, '{"A":1,"B":3,"a":2}'),
    ({"a": "e\u0301"}, '{"a":"e\u0301"}'),
]


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


SELF_CONTAINING: dict[str, Any] = {}
SELF_CONTAINING["again"] = SELF_CONTAINING

NOT_JSON: list[tuple[dict[Any, Any], str]] = [
    ({"a": math.nan}, "payload.a is nan"),
    ({"a": [1, math.inf]}, r"payload.a\[1\] is inf"),
    ({"a": -math.inf}, "payload.a is -inf"),
    ({1: "a"}, "payload has the name 1: give names as strings"),
    ({"a": {None: 1}}, "payload.a has the name None"),
    ({"a": {1, 2}}, "payload.a is of type set"),
    ({"a": b"x"}, "payload.a is of type bytes"),
    ({"a": Decimal(1)}, "payload.a is of type Decimal"),
    ({"a": object()}, "payload.a is of type object"),
    ({"a": "\ud800"}, "payload.a has the character"),
    ({"a\udfff": 1}, "payload has the character"),
    ({"a": "x\x00"}, "payload.a has the character"),
    ({"a\nb": {"\u2028": math.nan}}, r"payload\.a\\nb\.\\u2028 is nan"),
    ({"a": 10**5_000}, "payload.a is an integer of over 4,096 bits"),
    (SELF_CONTAINING, rf"^payload(\.\w+|\[0\])+ is over {PAYLOAD_DEPTH_MAX} levels deep: flatten the payload$"),
]


def key_or_none(function: Callable[[str], str], text: str) -> str | None:
    try:
        return function(text)
    except InvalidKey:
        return None


def test_the_key_version_is_1_while_the_tables_here_hold() -> None:
    assert KEY_VERSION == 1


@pytest.mark.parametrize(("title", "key"), TITLES, ids=ascii)
def test_every_twin_of_a_title_has_the_canonical_key(title: str, key: str) -> None:
    assert title_key(title) == key
    assert title_key(key) == key


@pytest.mark.parametrize(("one", "other"), DIFFERENT_TITLES, ids=ascii)
def test_distinct_titles_keep_distinct_keys(one: str, other: str) -> None:
    assert title_key(one) != title_key(other)


@pytest.mark.parametrize(
    "title", ["", " ", "_", " _\t", "#", "#Orbit", " # ", "\u200e", "\u3000", "a\x00", "\x07", "\x7f"]
)
def test_a_title_without_characters_or_with_control_characters_is_refused(title: str) -> None:
    with pytest.raises(InvalidKey, match=r"^the (title|key) .*: (give|remove) .*\Z"):
        title_key(title)


@pytest.mark.parametrize("function", [title_key, text_key, bounded_key, lambda text: json_key({"a": text})])
def test_a_lone_surrogate_is_refused(function: Callable[[str], str]) -> None:
    with pytest.raises(InvalidKey, match=r"the character '\\ud800'.*: remove it\Z"):
        function("x" * 600 + "\ud800")


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared wiki corpus is not beside this repository")
def test_titles_as_a_wiki_stores_them_are_their_own_keys() -> None:
    titles = []
    for path in sorted(CORPUS.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            titles += [json.loads(line)["title"] for line in lines]
    assert len(titles) > 2_000
    for title in titles:
        assert title_key(title) == title_key(normalize("NFD", title.replace(" ", "_")) + "#x") == title


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("a b", "a b"),
        (" \t a_b \n", "a_b"),
        ("e\u0301", "é"),
        ("a  B", "a  B"),
        ("a\nb", "a\nb"),
        ("\u2000a", "a"),
        ("#a", "#a"),
    ],
)
def test_a_text_key_is_nfc_and_stripped_and_nothing_else(text: str, key: str) -> None:
    assert text_key(text) == key


@pytest.mark.parametrize("text", ["", " \n\t\u3000", "a\x00b", "\x00"])
def test_a_text_that_is_empty_or_has_nul_is_refused(text: str) -> None:
    with pytest.raises(InvalidKey, match=r"^the key .*: (give|remove) .*\Z"):
        text_key(text)


@given(st.text(max_size=40) | st.text(min_size=200).map(lambda text: text * 3))
@example("i\u0307")
@example("e\u200e\u0301")
@example("x" * 439 + "e\u0301" * 80)
@example("x " * 400)
def test_title_and_text_keys_are_their_own_keys(text: str) -> None:
    for function in (title_key, text_key):
        key = key_or_none(function, text)
        if key is not None:
            assert function(key) == key
            assert len(key) <= KEY_LENGTH_MAX
            assert is_normalized("NFC", key)
            assert key == key.strip()


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=40))
def test_spellings_that_unicode_calls_equal_have_one_key(text: str) -> None:
    text = "a" + text.replace("#", "")
    for function in (title_key, text_key):
        assert function(normalize("NFD", text)) == function(normalize("NFC", text)) == function(text)


def test_a_key_of_at_most_512_characters_is_left_alone() -> None:
    for key in ("", "a", "é" * KEY_LENGTH_MAX):
        assert bounded_key(key) == key


def test_a_longer_key_keeps_its_head_and_ends_in_the_digest_of_the_whole() -> None:
    key = "é" * 400 + "x" * 100_000 + "y"
    assert bounded_key(key) == key[:440] + "~sha256:" + sha256(key.encode("utf-8")).hexdigest()
    assert len(bounded_key(key)) == KEY_LENGTH_MAX


@given(st.text(min_size=1, max_size=30), st.integers(1, 40), st.text(max_size=3), st.text(max_size=3))
def test_long_keys_are_equal_only_when_they_were(stem: str, times: int, tail: str, other_tail: str) -> None:
    one, other = stem * times + "x" * 500 + tail, stem * times + "x" * 500 + other_tail
    keys = bounded_key(one), bounded_key(other)
    assert (keys[0] == keys[1]) == (one == other)
    assert bounded_key(keys[0]) == keys[0]
    assert len(keys[0]) <= KEY_LENGTH_MAX


def test_spaces_around_a_url_are_not_part_of_it() -> None:
    assert url_key("  http://example.org/a ") == "http://example.org/a"


def test_the_longest_url_that_is_taken_has_8000_characters() -> None:
    for tail in ("a", "?", "\u00e9"):
        url = "http://example.org/".ljust(7_999, "a") + tail
        assert len(url_key(url)) == KEY_LENGTH_MAX
        with pytest.raises(InvalidKey, match="8,001 characters: 8,000 is the most, shorten it"):
            url_key(url + "a")


def test_a_long_url_keeps_a_readable_head_and_stays_its_own_key() -> None:
    for cut in range(12):
        key = url_key("http://example.org/" + "x" * cut + "é" * 300 + "?zz=1&zy=" + "2" * 500)
        assert len(key) == KEY_LENGTH_MAX
        assert key.startswith("http://example.org/" + "x" * cut + "%C3%A9")
        assert url_key(key) == key


def test_a_text_that_only_ends_like_a_long_key_is_still_checked() -> None:
    tail = "~sha256:" + "0" * 64
    assert url_key("HTTP://example.org/".ljust(440, "a") + tail).startswith("http://example.org/")
    for head in ("ftp://example.org/", "http://user@example.org/#", "http://example.org/\\"):
        key = key_or_none(url_key, head.ljust(440, "a") + tail)
        assert key is None or ("@" not in key and "#" not in key)


@given(st.text(max_size=60) | st.text(max_size=60).map("http://".__add__))
def test_any_text_has_a_key_or_an_answer(text: str) -> None:
    key = key_or_none(url_key, text)
    assert key is None or url_key(key) == key


@pytest.mark.parametrize(("payload", "key"), PAYLOADS, ids=ascii)
def test_a_payload_key_is_its_canonical_json(payload: dict[str, Any], key: str) -> None:
    assert json_key(payload) == key
    assert json_key(json.loads(key)) == key


def test_enumerations_count_as_their_values() -> None:
    assert json_key({Colour.RED: Level.HIGH, "b": Colour.RED}) == json_key({"red": 3, "b": "red"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 0}, {"a": False}),
        ({"a": 1}, {"a": "1"}),
        ({"a": None}, {}),
        ({"a": []}, {"a": {}}),
    ],
)
def test_payloads_that_differ_as_json_have_different_keys(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert json_key(one) != json_key(other)


@pytest.mark.parametrize(
    ("payload", "answer"), NOT_JSON, ids=[f"{i}: {answer}" for i, (_, answer) in enumerate(NOT_JSON)]
)
def test_a_payload_that_json_does_not_have_is_refused_with_its_place(payload: dict[Any, Any], answer: str) -> None:
    with pytest.raises(InvalidKey, match=answer) as refusal:
        json_key(payload)
    message = str(refusal.value)
    assert message.isprintable()
    assert len(message) < 400
    assert any(word in message for word in ("give", "remove", "flatten"))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("aé\n😀", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abé", max_size=3), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")), VALUES),
    st.data(),
)
def test_a_payload_key_survives_storage_and_ignores_the_order_of_names(
    payload: dict[str, Any], data: st.DataObject
) -> None:
    key = json_key(payload)
    assert json_key(json.loads(json.dumps(payload))) == key
    assert json_key(dict(data.draw(st.permutations(list(payload.items()))))) == key
    if len(key) < KEY_LENGTH_MAX:
        assert json.loads(key) == payload


@pytest.mark.parametrize("around", [lambda inner: {"a": inner}, lambda inner: [inner]], ids=["object", "list"])
def test_a_payload_has_exactly_so_many_levels_at_most(around: Callable[[object], object]) -> None:
    inner: object = 1
    for _ in range(PAYLOAD_DEPTH_MAX - 1):
        inner = around(inner)
    assert json_key({"a": inner}).startswith("{")
    with pytest.raises(InvalidKey, match=f"is over {PAYLOAD_DEPTH_MAX} levels deep: flatten the payload"):
        json_key({"a": around(inner)})


def test_an_integer_has_4096_bits_at_most_and_a_refusal_says_where_it_is() -> None:
    assert json_key({"a": 2**4_096 - 1}).startswith('{"a":')
    for payload, message in (
        ({"a": [2**4_096]}, "payload.a[0] is an integer of over 4,096 bits: give it as a string"),
        (
            {"a": {1}},
            "payload.a is of type set, which JSON does not have: give null, a boolean, number, string, list or mapping",
        ),
        ({"x" * 200: math.nan}, f"payload.{'x' * 112} is nan, which JSON does not have: give a finite number or null"),
    ):
        with pytest.raises(InvalidKey) as refused:
            json_key(payload)
        assert str(refused.value) == message


def test_a_character_that_no_key_has_is_told_with_its_position() -> None:
    for function, text in ((text_key, "ab\0"), (title_key, "Ab\x01")):
        with pytest.raises(InvalidKey) as refused:
            function(text)
        assert str(refused.value) == f"the key has the character {text[2]!a} at position 2: remove it"


def test_a_host_keeps_its_www_unless_it_is_to_go_and_kept_parameters_stay() -> None:
    url = "http://www.a.example/?utm_source=x"
    assert url_key(url) == "http://www.a.example/"
    assert url_key(url, drop_www=True, keep=["utm_source"]) == "http://a.example/?utm_source=x"


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ('{"payload":"why"}', "why"),
        ('{"payload":[1,2]}', "[1,2]"),
        ('{"payload":"a","x":1}', '{"payload":"a","x":1}'),
        ('{"payload":nothing}', '{"payload":nothing}'),
        ('{"payload":1', '{"payload":1'),
        ('{ "payload":"why"}', '{ "payload":"why"}'),
        ("a page}", "a page}"),
        ('["payload"]', '["payload"]'),
        ("plain", "plain"),
    ],
)
def test_a_key_is_shown_as_its_payload_only_where_it_is_that_of_one(key: str, shown: str) -> None:
    assert display_key(key) == shown
