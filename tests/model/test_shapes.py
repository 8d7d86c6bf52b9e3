"""Traps have few shapes, honest sites with names of their own have many."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from datetime import date, timedelta
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.model.keys import KEY_LENGTH_MAX, allowed_shapes, shape_of, text_key, url_key

SITE = "https://example.com"
RNG = random.Random(7)
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def day(number: int) -> date:
    return date(2020, 1, 1) + timedelta(days=number)


def token(number: int) -> str:
    """A session id of 24 letters and digits."""
    return "".join(random.Random(number).choices(LETTERS + "0123456789", k=20)) + "a1b2"


TRAPS: dict[str, Callable[[int], str]] = {
    "calendar by day": lambda n: f"{SITE}/events/{day(n):%Y/%m/%d}",
    "calendar by dashed day": lambda n: f"{SITE}/events/{day(n):%Y-%m-%d}",
    "calendar by compact day": lambda n: f"{SITE}/events/{day(n):%Y%m%d}",
    "calendar by month's name": lambda n: f"{SITE}/events/{day(31 * n):%b-%Y}",
    "calendar by month as a segment": lambda n: f"{SITE}/events/{day(31 * n):%Y/%B}",
    "calendar in the query": lambda n: f"{SITE}/events?month={n % 12 + 1}&year={2020 + n // 12}",
    "pages by segment": lambda n: f"{SITE}/list/page/{n}",
    "pages by parameter": lambda n: f"{SITE}/list?page={n}",
    "pages by suffix": lambda n: f"{SITE}/list-{n}.html",
    "a session id in the path": lambda n: f"{SITE}/{token(n)}/start",
    "a session id in brackets": lambda n: f"{SITE}/(S({token(n)}))/start.aspx",
    "a UUID": lambda n: f"{SITE}/item/{uuid.UUID(int=n + 2**120)}",
    "a hash": lambda n: f"{SITE}/item/{sha256(bytes([n])).hexdigest()}",
    "a number after a name": lambda n: f"{SITE}/article{n}",
    "a numbered sub-domain": lambda n: f"https://shard{n}.example.com/start",
    "a numbered name below names": lambda n: f"https://a.b{n}.c.example.com/start",
    "ports": lambda n: f"https://example.com:{8_000 + n}/start",
    "ports of an address": lambda n: f"http://192.0.2.1:{8_000 + n}/start",
    "addresses of one network": lambda n: f"http://[2001:db8:1:2::{n + 1:x}]/start",
    "addresses and ports of one network": lambda n: f"http://[2001:db8:1:2:{n + 9:x}::1]:{8_000 + n}/start",
    "filters of a shop": lambda n: f"{SITE}/shop?price={n}&sort={'up' if n % 2 else 'down'}",
    "filters in another order": lambda n: f"{SITE}/shop?" + "&".join(sorted(["a=1", "b=2"], reverse=n % 2 == 0)),
    "the case flips": lambda n: f"{SITE}/" + "".join(c.upper() if n >> i & 1 else c for i, c in enumerate("products")),
    "a session id behind an encoded semicolon": lambda n: url_key(f"{SITE}/start%3Bjsessionid={token(n)}"),
    "a session id behind a semicolon of the query": lambda n: url_key(f"{SITE}/start?x=1;sid={token(n)}"),
    "encoded once more at every hop": lambda n: url_key(f"{SITE}/%25{'25' * n}41/start"),
    "links escaped once more at every hop": lambda n: url_key(f"{SITE}/list?a=1&{'amp;' * n}b=2"),
    "one parameter more at every hop": lambda n: url_key(f"{SITE}/list?{'a=1&' * (n + 1)}"),
    "a number as JSON": lambda n: f'{{"page":{n}}}',
    "a numbered title": lambda n: text_key(f"Season {n}"),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_has_one_shape(trap: str) -> None:
    assert len({TRAPS[trap](n) for n in range(60)}) > 1
    assert len({shape_of(TRAPS[trap](n)) for n in range(60)}) == 1


GROWING: dict[str, Callable[[int], str]] = {
    "one segment over and over": lambda n: f"{SITE}" + "/a" * n,
    "a cycle of two": lambda n: f"{SITE}" + "/a/b" * n,
    "a cycle of three": lambda n: f"{SITE}/start" + "/a/b/c" * n,
    "a name below a name over and over": lambda n: f"https://{'www.' * n}example.com/start",
    "two names over and over": lambda n: f"https://{'a.b.' * n}example.com/start",
    "ever deeper without a pattern": lambda n: f"{SITE}/" + "/".join(RNG.choice("abcdef") for _ in range(9 + n)),
    "numbers over and over": lambda n: f"{SITE}" + "".join(f"/{m}" for m in range(n)),
}


@pytest.mark.parametrize("trap", list(GROWING)[:5])
def test_an_address_that_grows_by_itself_has_few_shapes(trap: str) -> None:
    assert len({shape_of(GROWING[trap](n)) for n in range(2, 100)}) <= 2


def test_a_path_that_grows_without_a_pattern_is_cut_at_a_depth() -> None:
    assert (
        shape_of(f"{SITE}/a/b/c/d/e/f/g/h/i")
        == shape_of(f"{SITE}/a/b/c/d/e/f/g/h/x/y/z")
        == ("example.com/a/b/c/d/e/f/g/h/...")
    )
    assert shape_of(GROWING["numbers over and over"](40)).startswith("example.com/(#)+")


HONEST: dict[str, list[str]] = {
    "articles with names": ["/wiki/Ant", "/wiki/Bee", "/wiki/Wasp", "/wiki/Hornet"],
    "titles of other scripts": [
        url_key(f"{SITE}/wiki/{title}") for title in ("日本", "東京", "京都", "Käfer", "Vögel")
    ],
    "titles that begin alike": ["The ant", "The bee", "The wasp"],
    "one folder deeper": ["/a/b", "/a/b/c", "/a/b/c/d"],
    "other parameters": ["/search?q=1", "/search?q=1&page=2", "/search"],
    "hex words without a digit": ["/deadbeef", "/facadeee", "/effaced"],
    "long names of letters": ["/internationalisation", "/characteristically"],
    "other hosts": ["https://a.example.com/", "https://b.example.com/", "https://example.org/"],
    "sites by address": [
        "https://10.0.0.1/",
        "https://10.0.0.2/",
        "https://[2001:db8:1:2::1]/",
        "https://[2001:db8:1:3::1]/",
    ],
    "sites of this network by address": [
        "https://[::1]/",
        "https://[fd00::1]/",
        "https://[fd00::2]/",
        "https://[fe80::1]/",
    ],
    "with a port and without": ["https://example.com/", "https://example.com:8443/", "https://shop.example.com:8443/"],
    "a month as a word in a name": ["/may-day", "/march-on-rome"],
}


@pytest.mark.parametrize("site", HONEST)
def test_what_an_author_named_keeps_its_shape(site: str) -> None:
    keys = [key if not key.startswith("/") else SITE + key for key in HONEST[site]]
    assert len({shape_of(key) for key in keys}) == len(keys)


def test_two_schemes_of_one_page_have_one_shape() -> None:
    assert shape_of("http://example.com/a") == shape_of("https://example.com/a")


@pytest.mark.parametrize(
    ("key", "shape"),
    [
        (f"{SITE}/", "example.com/"),
        (f"{SITE}/News/2024-01-02/Item-77.html?b=1&a=2&b=3", "example.com/news/#/item-#.html?a&b"),
        (f"{SITE}/x/x/x/y", "example.com/(x)+/y"),
        (f"{SITE}/caf%C3%A9/%E6%97%A5", "example.com/café/日"),
        (f"{SITE}/a%00b", "example.com/a_b"),
        ("https://www.www.shop7.example.com:8443/a", "(www)+.shop#.example.com:#/a"),
        ("https://a.b.c.d.e.f.g.h.i.example.com/", "....b.c.d.e.f.g.h.i.example.com/"),
        ("http://[2001:db8::7]:8080/a", "[2001:db8:0:0:*]:#/a"),
        ("http://[2001:db8:5::]/a", "[2001:db8:5:0:*]/a"),
        ("http://[::ffff:7f00:1]/a", "[::ffff:7f00:1]/a"),
        ("http://[::1/a", "[::1/a"),
        ("http://[zz]/a", "[zz]/a"),
        ("Season 12, episode 3", "season #, episode #"),
    ],
)
def test_shapes_are_written_so_that_people_can_read_them(key: str, shape: str) -> None:
    assert shape_of(key) == shape


@given(st.text(max_size=600))
def test_any_text_has_a_shape_of_bounded_length_that_can_be_stored(text: str) -> None:
    shape = shape_of(text.encode(errors="replace").decode())
    assert len(shape) <= KEY_LENGTH_MAX
    assert "\x00" not in shape
    shape.encode()


@given(st.lists(st.sampled_from(["a", "b", "1", "%41", "A"]), max_size=300))
def test_any_path_has_a_shape_quickly(segments: list[str]) -> None:
    assert shape_of(f"{SITE}/" + "/".join(segments)).startswith("example.com/")


@pytest.mark.parametrize(
    "text",
    [
        "a1" * 256,
        "1a" * 250 + "-",
        "-".join("1" * 256),
        "#" * 512,
        "%" * 512,
        "a/" * 256,
        "http://" + "a.b." * 120 + "com",
        "http://" + "1." * 250,
        "http://[" + ":" * 500 + "]",
        "http://" + ":1" * 250,
    ],
)
def test_hostile_texts_fold_in_no_time(text: str) -> None:
    """A pattern that backtracks would hang here."""
    assert shape_of(text)


@pytest.mark.parametrize(
    ("told", "shape", "most"),
    [
        ("https://x.example/a/#", "x.example/a/#", None),
        ("x.example/a/#", "x.example/a/#", None),
        ("HTTPS://X.Example/a/#/", "x.example/a/#", None),
        ("https://x.example/a/17", "x.example/a/#", None),
        ("https://x.example/a/#=500", "x.example/a/#", 500),
        ("x.example/list?page=500", "x.example/list?page", 500),
        ("https://x.example/list?page=500", "x.example/list?page", None),
        (" x.example/item/* ", "x.example/item/*", None),
    ],
)
def test_a_person_names_a_shape_as_it_is_shown_or_by_a_page_of_it(told: str, shape: str, most: int | None) -> None:
    assert allowed_shapes([told]) == {shape: most}
    assert shape_of("https://x.example/a/17") == "x.example/a/#"
