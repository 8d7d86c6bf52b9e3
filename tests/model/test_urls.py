"""URL keys: twins share a key, distinct pages never do, and a key is its own key (DESIGN §5)."""

from __future__ import annotations

import csv
import json
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ramet.model.keys import KEY_LENGTH_MAX, InvalidKey, url_key
from ramet.model.urls import SESSION_PARAMETERS, TRACKING_PARAMETERS

CORPUS = Path(__file__).parents[2].parent / "shared" / "jobs-corpus"

# rule -> lines of "raw URL -> key"; a key is also a case of its own (it must map to itself).
CANONICAL = {
    "scheme and host case": """
        HTTP://example.org/a -> http://example.org/a
        HttpS://EXAMPLE.Org/A/b -> https://example.org/A/b
        http://example.org/CaSe -> http://example.org/CaSe
    """,
    "empty path is the root": """
        http://example.org -> http://example.org/
        http://example.org/ -> http://example.org/
        http://example.org?a=1 -> http://example.org/?a=1
        http://example.org#x -> http://example.org/
    """,
    "default port": """
        http://example.org:80/a -> http://example.org/a
        https://example.org:443/a -> https://example.org/a
        http://example.org:/a -> http://example.org/a
        http://example.org:0080/a -> http://example.org/a
        http://example.org:443/a -> http://example.org:443/a
        https://example.org:80/a -> https://example.org:80/a
        http://example.org:8080/a -> http://example.org:8080/a
        http://example.org:08080/a -> http://example.org:8080/a
    """,
    "userinfo": """
        http://user@example.org/a -> http://example.org/a
        http://user:secret@example.org/a -> http://example.org/a
        http://user:p@ss@example.org:80/a -> http://example.org/a
        http://1.1.1.1@127.0.0.1/ -> http://127.0.0.1/
        http://@example.org/ -> http://example.org/
        http://example.org/@handle -> http://example.org/@handle
    """,
    "trailing host dot": """
        http://example.org./a -> http://example.org/a
        http://example.org.:80/a -> http://example.org/a
        http://127.0.0.1./ -> http://127.0.0.1/
    """,
    "international host": """
        http://Bücher.example/ -> http://xn--bcher-kva.example/
        http://bu\u0308cher.example/ -> http://xn--bcher-kva.example/
        http://BÜCHER.example/ -> http://xn--bcher-kva.example/
        http://XN--BCHER-KVA.example/ -> http://xn--bcher-kva.example/
        http://b%C3%BCcher.example/ -> http://xn--bcher-kva.example/
        http://faß.example/ -> http://xn--fa-hia.example/
        http://日本語。jp/ -> http://xn--wgv71a119e.jp/
        http://пример.испытание/ -> http://xn--e1afmkfd.xn--80akhbyknj4f/
        http://ＥＸＡＭＰＬＥ.org/ -> http://example.org/
        http://ex\u00adample.org/ -> http://example.org/
        http://ex%61mple.org/ -> http://example.org/
        http://☕.example/ -> http://xn--53h.example/
        http://a_b.example/ -> http://a_b.example/
        http://localhost/ -> http://localhost/
    """,
    "numeric IPv4": """
        http://127.0.0.1/ -> http://127.0.0.1/
        http://0x7f.1/ -> http://127.0.0.1/
        http://0X7F.0.0.1/ -> http://127.0.0.1/
        http://0177.0.0.1/ -> http://127.0.0.1/
        http://2130706433/ -> http://127.0.0.1/
        http://0x7f000001/ -> http://127.0.0.1/
        http://017700000001/ -> http://127.0.0.1/
        http://127.1/ -> http://127.0.0.1/
        http://10.258/ -> http://10.0.1.2/
        http://10.1.515/ -> http://10.1.2.3/
        http://0/ -> http://0.0.0.0/
        http://0x/ -> http://0.0.0.0/
        http://１２７.0.0.1/ -> http://127.0.0.1/
        http://127%2E0%2E0%2E1:80/ -> http://127.0.0.1/
        http://1.2.3.4.example/ -> http://1.2.3.4.example/
    """,
    "IPv6": """
        http://[::1]/ -> http://[::1]/
        http://[0:0:0:0:0:0:0:1]:80/ -> http://[::1]/
        http://[2001:DB8::0:1]:8080/a -> http://[2001:db8::1]:8080/a
        http://[2001:0db8:0:0:1:0:0:1]/ -> http://[2001:db8::1:0:0:1]/
        http://[2001:db8:0:1:1:1:1:1]/ -> http://[2001:db8:0:1:1:1:1:1]/
        http://[1:0:0:2:0:0:0:3]/ -> http://[1:0:0:2::3]/
        http://[1:2:3:4:5:6:0:0]/ -> http://[1:2:3:4:5:6::]/
        http://[::]/ -> http://[::]/
        http://[::ffff:127.0.0.1]/ -> http://[::ffff:7f00:1]/
    """,
    "dot segments": """
        http://example.org/a/./b -> http://example.org/a/b
        http://example.org/a/../b -> http://example.org/b
        http://example.org/../../b -> http://example.org/b
        http://example.org/a/b/.. -> http://example.org/a
        http://example.org/a/. -> http://example.org/a
        http://example.org/.. -> http://example.org/
        http://example.org/a/%2e%2E/b -> http://example.org/b
        http://example.org/a/.%2e/b -> http://example.org/b
        http://example.org/a//../b -> http://example.org/a/b
        http://example.org/a/..;/b -> http://example.org/b
        http://example.org/a/..;x=1/b -> http://example.org/b
        http://example.org/.../.well-known/a..b -> http://example.org/.../.well-known/a..b
    """,
    "slashes": """
        http://example.org/b/ -> http://example.org/b
        http://example.org/b// -> http://example.org/b
        http://example.org//b -> http://example.org/b
        http://example.org/a///b -> http://example.org/a/b
        http://example.org// -> http://example.org/
        http://example.org/b/?a=1 -> http://example.org/b?a=1
        http://example.org/b/index.html -> http://example.org/b/index.html
    """,
    "percent-encoding of the path": """
        http://example.org/%7euser -> http://example.org/~user
        http://example.org/%61%62c -> http://example.org/abc
        http://example.org/%c3%a9 -> http://example.org/%C3%A9
        http://example.org/é -> http://example.org/%C3%A9
        http://example.org/日本 -> http://example.org/%E6%97%A5%E6%9C%AC
        http://example.org/😀 -> http://example.org/%F0%9F%98%80
        http://example.org/a b -> http://example.org/a%20b
        http://example.org/a%20b -> http://example.org/a%20b
        http://example.org/"<>^`{|}[] -> http://example.org/%22%3C%3E%5E%60%7B%7C%7D%5B%5D
        http://example.org/Mercury_%28planet%29 -> http://example.org/Mercury_(planet)
        http://example.org/Talk%3AA%26B%2c%40%21 -> http://example.org/Talk:A&B,@!
        http://example.org/C%2b%2B -> http://example.org/C++
        http://example.org/100% -> http://example.org/100%25
        http://example.org/%zz%4 -> http://example.org/%25zz%254
        http://example.org/%2561 -> http://example.org/%2561
        http://example.org/a%2fb -> http://example.org/a%2Fb
        http://example.org/a%3fb%23c -> http://example.org/a%3Fb%23c
        http://example.org/%e9 -> http://example.org/%E9
        http://example.org/%00%5c -> http://example.org/%00%5C
    """,
    "percent-encoding of the query": """
        http://example.org/?q=a+b -> http://example.org/?q=a%20b
        http://example.org/?q=a b -> http://example.org/?q=a%20b
        http://example.org/?q=a%2bb -> http://example.org/?q=a%2Bb
        http://example.org/?u=http%3A%2F%2Fe.org%2F -> http://example.org/?u=http://e.org/
        http://example.org/?t=YQ%3D%3D -> http://example.org/?t=YQ==
        http://example.org/?f[]=1 -> http://example.org/?f%5B%5D=1
        http://example.org/?q=%e9&r=é -> http://example.org/?q=%E9&r=%C3%A9
        http://example.org/?a%3db=1%262 -> http://example.org/?a%3Db=1%262
        http://example.org/?q=50% -> http://example.org/?q=50%25
    """,
    "fragment": """
        http://example.org/a# -> http://example.org/a
        http://example.org/a#b/c?d -> http://example.org/a
        http://example.org/#!/jobs/1 -> http://example.org/
        http://example.org/a?b=1#c -> http://example.org/a?b=1
        http://example.org/a%23b -> http://example.org/a%23b
    """,
    "path parameters": """
        http://example.org/a;jsessionid=0A1B -> http://example.org/a
        http://example.org/a;JSESSIONID=0A1B?x=1 -> http://example.org/a?x=1
        http://example.org/a;jsessionid -> http://example.org/a
        http://example.org/a;v=1.1/b;w=2 -> http://example.org/a/b
        http://example.org/a;x=1;y=2 -> http://example.org/a
        http://example.org/a; -> http://example.org/a
        http://example.org/;jsessionid=1/b -> http://example.org/b
        http://example.org/Steins;Gate -> http://example.org/Steins%3BGate
        http://example.org/Steins%3bGate;x=1 -> http://example.org/Steins%3BGate
    """,
    "tracking parameters": """
        http://example.org/?utm_source=a&utm_medium=b&UTM_Campaign=c -> http://example.org/
        http://example.org/?utm%5Fsource=a -> http://example.org/
        http://example.org/?gclid=1&id=7&fbclid=2 -> http://example.org/?id=7
        http://example.org/?msclkid=1&mc_eid=2&_hsenc=3&__hstc=4&igshid=5 -> http://example.org/
        http://example.org/?gh_src=1&lever-source=2&lever-source[]=3&gh_jid=4 -> http://example.org/?gh_jid=4
        http://example.org/?utm_source -> http://example.org/
        http://example.org/?ref=main&source=x -> http://example.org/?ref=main&source=x
        http://example.org/?futm_source=1&gclidx=2 -> http://example.org/?futm_source=1&gclidx=2
    """,
    "session parameters": """
        http://example.org/?PHPSESSID=1 -> http://example.org/
        http://example.org/?sid=1&a=2 -> http://example.org/?a=2
        http://example.org/?jsessionid=1&CFID=2&CFTOKEN=3 -> http://example.org/
        http://example.org/?ASPSESSIONIDQQ=1 -> http://example.org/
        http://example.org/?sid2=1 -> http://example.org/?sid2=1
    """,
    "query order and emptiness": """
        http://example.org/? -> http://example.org/
        http://example.org/?& -> http://example.org/
        http://example.org/?= -> http://example.org/
        http://example.org/?b=2&a=1 -> http://example.org/?a=1&b=2
        http://example.org/?b=2&&a=1& -> http://example.org/?a=1&b=2
        http://example.org/?b=1&a=2&b=0 -> http://example.org/?a=2&b=1&b=0
        http://example.org/?a= -> http://example.org/?a
        http://example.org/?a=b=c -> http://example.org/?a=b=c
        http://example.org/?%62=1&a=2 -> http://example.org/?a=2&b=1
        http://example.org/?a=1?b -> http://example.org/?a=1?b
    """,
    "what other normalisers miss (reliability, section 5)": """
        http://example.org:80/a?b=2&a=1&utm_source=n#frag -> http://example.org/a?a=1&b=2
        https://example.org:443/cal?month=3&year=2024 -> https://example.org/cal?month=3&year=2024
        http://example.org./a/../b?z=1&y=2#top -> http://example.org/b?y=2&z=1
        http://example.org/x;jsessionid=AB12?sid=9&id=3 -> http://example.org/x?id=3
        http://0x7f.1/b/ -> http://127.0.0.1/b
        http://user@MÜNCHEN.example./b/?gclid=1 -> http://xn--mnchen-3ya.example/b
    """,
}
CASES = [
    pytest.param(raw, key, id=f"{rule}: {raw}".encode("ascii", "backslashreplace").decode())
    for rule, lines in CANONICAL.items()
    for raw, _, key in (line.partition(" -> ") for line in lines.strip().replace("\n        ", "\n").split("\n"))
]

PAGE = "http://example.org/"
DIFFERENT = [
    (PAGE + "a", "https://example.org/a"), (PAGE + "a", "http://www.example.org/a"), (PAGE + "a", PAGE + "A"),
    (PAGE + "a", "http://example.org:8080/a"), (PAGE + "a/b", PAGE + "a%2Fb"), (PAGE + "a?b", PAGE + "a%3Fb"),
    (PAGE + "é", PAGE + "e\u0301"), (PAGE + "%41", PAGE + "%2541"), (PAGE + "?q=a+b", PAGE + "?q=a%2Bb"),
    (PAGE + "?a=1&a=2", PAGE + "?a=2&a=1"), (PAGE + "?a=1&b=2", PAGE + "?a=1%26b=2"),
    (PAGE + "?a=1&b=2", PAGE + "?a=2&b=1"), (PAGE + "?a%3Db=1", PAGE + "?a=b=1"),
    (PAGE + "cal?month=1", PAGE + "cal?month=2"), (PAGE + "?gh_jid=1", PAGE + "?gh_jid=2"),
    (PAGE + "Steins", PAGE + "Steins;Gate"), (PAGE + "a", PAGE + "a/index.html"),
    ("http://faß.example/", "http://fass.example/"), (PAGE + "x" * 600, PAGE + "x" * 601),
]  # fmt: skip

INVALID = [
    "", " ", "example.org/a", "//example.org/a", "/a", "ftp://example.org/", "mailto:me@example.org",
    "javascript:alert(1)", "httpſ://example.org/", "http:/example.org/", "http:example.org",
    # no host, or one that cannot exist
    "http://", "http:///a", "http://?a", "http://:80/", "http://./", "http://user@/a", "http://a..example/",
    "http://example.org../", "http://.example/", "http://a b.example/", "http://a%00b.example/",
    "http://a%2Fb.example/", "http://%ff.example/", "http://℀.example/", "http://a\u200eb.example/",
    "http://\u0301a.example/", "http://xn--a.example/", "http://www.xn--a.org/", "http://xn--/", "http://xn--\u00fc.example/",
    "http://" + "a" * 64 + ".example/", "http://" + "a." * 126 + "ab/",
    "http://1.2.3.4.5/", "http://1.2.3.4.0/", "http://1.2.3.256/", "http://256.1/", "http://4294967296/", "http://08.1.1.1/",
    "http://example.09/", "http://example.0x1f/", "http://" + "1" * 5_000 + "/",
    "http://[::1/", "http://[::g]/", "http://[]/", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/",
    "http://[::1]x/", "http://::1/", "http://example.org:65536/", "http://example.org:a/",
    "http://example.org:-1/", "http://example.org:٨٠/", "http://example.org:" + "9" * 5_000 + "/",
    # characters on which parsers disagree or that a database refuses
    "http://127.0.0.1\\@1.1.1.1/", "http://example.org/a\\b", "http://example.org/a\x00",
    "http://example.org/a\nb", "http://example.org/\t", "\nhttp://example.org/", "http://example.org/\x7f",
    "http://example.org/\x85", "http://example.org/\ud800", "http://example.org/?a=\udfff",
    "http://example.org/" + "a" * 7_982,
]  # fmt: skip


@pytest.mark.parametrize(("raw", "key"), CASES)
def test_every_twin_has_the_canonical_key(raw: str, key: str) -> None:
    assert url_key(raw) == key
    assert url_key(key) == key


def test_a_port_is_a_number_that_exists_however_many_zeros_lead_it() -> None:
    for port, kept in {"0": ":0", "65535": ":65535", "80".zfill(20): "", "81".zfill(20): ":81"}.items():
        assert url_key(f"http://a.example:{port}/") == f"http://a.example{kept}/"
    for port in ("65536", "80".zfill(21)):
        with pytest.raises(InvalidKey) as refusal:
            url_key(f"http://a.example:{port}/")
        assert str(refusal.value) == "the URL's port cannot exist: give a number from 0 to 65535, or none"


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_distinct_pages_keep_distinct_keys(one: str, other: str) -> None:
    assert url_key(one) != url_key(other)


@pytest.mark.parametrize("url", INVALID, ids=[f"{i}: {url[:40]!a}" for i, url in enumerate(INVALID)])
def test_an_invalid_url_is_refused_in_one_line(url: str) -> None:
    with pytest.raises(InvalidKey) as refusal:
        url_key(url)
    message = str(refusal.value)
    assert all(" " <= c <= "~" for c in message)
    assert len(message) < 500
    assert any(word in message for word in ("give", "remove", "shorten"))


@pytest.mark.parametrize("tail", ["a b.example/", "a.example:x/", "[x]/", "xn--a/", "1.2.3.4.5/", "/"])
@pytest.mark.parametrize("scheme", ["http://", "ftp://", ""])
def test_a_refusal_shows_no_password(scheme: str, tail: str) -> None:
    with pytest.raises(InvalidKey) as refusal:
        url_key(f"{scheme}alice:hunter2@{tail}")
    assert not [word for word in ("alice", "hunter2") if word in str(refusal.value)]


@pytest.mark.parametrize("name", sorted(TRACKING_PARAMETERS | SESSION_PARAMETERS))
def test_every_listed_parameter_goes_unless_it_is_kept(name: str) -> None:
    url = f"http://example.org/?b=1&{name}=7"
    assert url_key(url) == url_key(url.replace(name, name.upper())) == "http://example.org/?b=1"
    assert "=7" in url_key(url, keep=[name.upper()])


def test_keep_names_query_and_path_parameters() -> None:
    url = "http://example.org/a;color=red;jsessionid=1?utm_source=x&SID=2&gclid=3"
    assert url_key(url) == "http://example.org/a"
    assert url_key(url, keep={"Color"}) == "http://example.org/a;color=red"
    kept = url_key(url, keep=("color", "sid", "utm_source"))
    assert kept == "http://example.org/a;color=red?SID=2&utm_source=x"
    assert url_key(kept, keep=("color", "sid", "utm_source")) == kept


def test_keep_given_as_one_string_is_refused() -> None:
    with pytest.raises(TypeError, match=r'write keep=\("sid",\)'):
        url_key("http://example.org/", keep="sid")


@pytest.mark.parametrize(
    ("raw", "key"),
    [
        ("http://www.example.org/a", "http://example.org/a"),
        ("http://WWW.www.example.org/a?", "http://example.org/a"),
        ("http://www.com/a", "http://www.com/a"),
        ("http://www2.example.org/a", "http://www2.example.org/a"),
        ("http://example.org/www.a", "http://example.org/www.a"),
    ],
)
def test_drop_www_leaves_a_name_with_a_dot(raw: str, key: str) -> None:
    assert url_key(raw, drop_www=True) == url_key(key, drop_www=True) == key


PIECES = st.sampled_from([
    "/", "//", ".", "..", ";", ":", "@", "&", "=", "+", "%", "?", "#", "[", ";a=1", ";jsessionid=2", "%2e",
    "%2F", "%3b", "%C3", "%zz", "é", "e\u0301", "😀", "a", "b", "~", "utm_source=", "sid=", "zz",
])  # fmt: skip
HOSTS = st.sampled_from([
    "example.org", "EXAMPLE.org.", "u:p@a.example:80", "0x7f.1", "[::1]:443", "www.xn--bcher-kva.example",
    "☕.ws",
])  # fmt: skip
ALLOWED = st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\\")
TAILS = st.lists(PIECES | st.text(ALLOWED, max_size=3), max_size=40).map("".join)
URLS = st.builds("{}://{}/{}".format, st.sampled_from(["http", "HTTPS"]), HOSTS, TAILS)


@given(URLS | st.builds(str.__mul__, URLS, st.integers(2, 9)), st.booleans())
@example("http://a.example/" + "%C3%A9" * 71 + "%C3", False)
def test_a_key_is_its_own_key(url: str, drop_www: bool) -> None:
    key = url_key(url, drop_www=drop_www)
    assert url_key(key, drop_www=drop_www) == key
    assert len(key) <= KEY_LENGTH_MAX
    assert not [c for c in key if not "!" <= c <= "~" or c in '#\\"<>^`{|}']


@given(TAILS)
def test_a_fragment_and_trackers_never_change_the_key(tail: str) -> None:
    tail = tail.replace("#", "").rstrip(" ")
    key = url_key(f"http://example.org/{tail}")
    assert url_key(f"http://example.org/{tail}#x") == key
    assert url_key(f"http://example.org/{tail}{'&' if '?' in tail else '?'}utm_term=1&fbclid=2") == key


@given(st.text("abcXYZ019-_~()!,:@", min_size=1, max_size=30), st.data())
def test_encoded_and_plain_twins_are_one(name: str, data: st.DataObject) -> None:
    encoded = [data.draw(st.sampled_from([c, f"%{ord(c):02x}", f"%{ord(c):02X}"])) for c in name]
    for form in ("http://example.org/x/{}", "http://example.org/?q={}", "http://example.org/?q-{}=1"):
        assert url_key(form.format("".join(encoded))) == url_key(form.format(name)) == form.format(name)


@given(st.lists(st.tuples(st.text("abc", min_size=1), st.text("xyz", min_size=1)), unique_by=lambda p: p[0]))
def test_the_order_of_differently_named_parameters_does_not_matter(pairs: list[tuple[str, str]]) -> None:
    key = url_key("http://example.org/?" + "&".join(f"{name}={value}" for name, value in pairs))
    assert len(key) == KEY_LENGTH_MAX or parse_qsl(urlsplit(key).query) == sorted(pairs)


@given(st.integers(0, 2**32 - 1), st.data())
def test_all_spellings_of_an_ipv4_address_are_one(number: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 4))
    heads = [number >> 8 * (3 - index) & 255 for index in range(count - 1)]
    parts = [*heads, number & 256 ** (5 - count) - 1]
    forms = [data.draw(st.sampled_from(["{}", "0x{:x}", "0X{:08X}", "0{:o}"])) for _ in parts]
    host = ".".join(form.format(part) for form, part in zip(forms, parts, strict=True))
    assert url_key(f"http://{host}:80") == f"http://{IPv4Address(number)}/"


@given(st.lists(st.sampled_from([0, 0, 0, 1, 0x10, 0xABCD]), min_size=8, max_size=8))
def test_all_spellings_of_an_ipv6_address_are_one(groups: list[int]) -> None:
    assume(groups[:6] not in ([0] * 6, [0] * 5 + [0xFFFF]))  # Python spells mapped addresses in its own way
    address = IPv6Address(":".join(f"{group:x}" for group in groups))
    for text in (address.exploded, address.exploded.upper(), ":".join(f"{group:x}" for group in groups)):
        assert url_key(f"https://[{text}]:443") == f"https://[{address.compressed}]/"


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared jobs corpus is not beside this repository")
def test_real_job_urls_keep_their_identity() -> None:
    """The corpus names no keys, only row counts: its rows are distinct pages, so their keys must differ."""
    manifest = json.loads((CORPUS / "MANIFEST.json").read_text())
    entries = (entry for entry in manifest["entries"] if entry["file"].startswith("urls/"))
    rows = {entry["file"]: entry["expected"]["rows"] for entry in entries}
    jobs = [row["url"] for row in json.loads((CORPUS / "urls/job_urls_dev.json").read_text())]
    with (CORPUS / "urls/board_urls_dev.csv").open(newline="") as file:
        boards = [row["url"] for row in csv.DictReader(file)]
    assert [len(jobs), len(boards)] == [rows["urls/job_urls_dev.json"], rows["urls/board_urls_dev.csv"]]
    keys = {url: url_key(url) for url in jobs + boards}
    assert len(set(keys.values())) == len(keys)
    for url, key in keys.items():
        assert url_key(key) == key
        assert sorted(parse_qsl(urlsplit(url).query)) == sorted(parse_qsl(urlsplit(key).query))


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
UNUSABLE = [
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


@pytest.mark.parametrize("url", UNUSABLE)
def test_a_host_or_port_in_disguise_is_refused(url: str) -> None:
    with pytest.raises(InvalidKey, match="give"):
        url_key(url)
