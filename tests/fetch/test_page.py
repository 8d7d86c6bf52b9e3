"""What a page tells of itself: links, its canonical address, its text, JSON."""

from __future__ import annotations

import pytest

from ramet.fetch import Page, Refused
from ramet.fetch.messages import Response
from ramet.fetch.page import LINKS_MAX, canonical_of_header

URL = "https://acme.example/shop/list?page=2"


def page(body: str | bytes = "", url: str = URL, **headers: str) -> Page:
    content = body.encode() if isinstance(body, str) else body
    stated = {name.replace("_", "-"): value for name, value in {"content_type": "text/html", **headers}.items()}
    return Page(Response(url, 200, stated, content), url)


def test_links_are_absolute_and_each_canonical_key_is_there_once() -> None:
    found = page(
        """<a href="/a">1</a> <a href="b?x=1">2</a> <a href="//other.example/c#top">3</a> <a href="?page=3">4</a>
        <a href="/a?utm_source=mail">again</a> <a href=" /a#top ">again</a> <area href="/map"> <a>none</a>
        <a href="mailto:x@acme.example">no</a> <a href="javascript:x()">no</a> <a href="http://[broken">no</a>
        <a href="https://who:s3cret@acme.example/login">5</a> <a href="">this</a>"""
    ).links()
    assert found == [
        "https://acme.example/a", "https://acme.example/shop/b?x=1", "https://other.example/c",
        "https://acme.example/shop/list?page=3", "https://acme.example/map", "https://acme.example/login", URL,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("base", "link"),
    [
        ('<base href="/other/">', "https://acme.example/other/a"),
        ('<base href="https://cdn.example/x/y">', "https://cdn.example/x/a"),
        ('<base target="_blank"><base href="/first/"><base href="/second/">', "https://acme.example/first/a"),
        ('<base href="javascript:x()">', "https://acme.example/shop/a"),
        ('<base href="http://[broken">', "https://acme.example/shop/a"),
    ],
)
def test_a_base_moves_them(base: str, link: str) -> None:
    assert page(f'<head>{base}</head><a href="a">a</a>').links() == [link]


def test_links_that_are_not_to_be_followed_are_given_when_asked_for() -> None:
    body = '<a href="/a">a</a><a rel="sponsored NoFollow" href="/b">b</a><a rel=nofollow href="/a">a again</a>'
    assert page(body).links() == ["https://acme.example/a"]
    assert page(body).links(nofollow=True) == ["https://acme.example/a", "https://acme.example/b"]
    for refusing in (
        page(f'<meta name=ROBOTS content="noindex, nofollow">{body}'),
        page(body, x_robots_tag="nofollow"),
    ):
        assert refusing.links() == []
        assert len(refusing.links(nofollow=True)) == 2


def test_links_of_one_host_alone() -> None:
    body = '<a href="/a">a</a><a href="https://www.acme.example/b">b</a><a href="http://acme.example:8080/c">c</a>'
    assert page(body).links(same_host=True) == ["https://acme.example/a", "http://acme.example:8080/c"]


@pytest.mark.parametrize("media_type", ["application/pdf", "text/plain", "application/json"])
def test_what_is_no_html_has_no_links(media_type: str) -> None:
    assert page('<a href="/a">a</a>', content_type=media_type).links() == []


def test_a_page_of_a_million_links_is_read_to_its_bound() -> None:
    body = "".join(f"<a href=/{number}>" for number in range(3 * LINKS_MAX))
    assert len(page(body).links()) == LINKS_MAX


@pytest.mark.parametrize(
    "body",
    [
        "<a href=/a>" * 50_000, "<div>" * 200_000 + "<a href=/a>", "<a " * 300_000, "<a '" * 300_000, "<a \"" * 300_000,
        "<a ='" * 200_000 + ">", "<!--" * 200_000, "<script>" * 200_000, "<a b" + " c" * 500_000, "<a <!-- " * 100_000,
        "<title>" + "</titl" * 200_000, "<a href=" + "&amp" * 200_000 + ">", "<a " + "x=''" * 200_000 + ">",
    ],
    ids=range(13),
)  # fmt: skip
def test_a_page_that_no_person_wrote_is_read(body: str) -> None:
    """In a time that grows with its length: else the test's own guard against hanging ends it."""
    assert len(page(body).links()) <= 1


def test_what_looks_like_a_link_in_a_comment_or_a_script_is_none() -> None:
    body = """<title><a href="/t"></title><!-- <a href="/c"> --><script>x = '<a href="/s">'</script>
        <STYLE><a href="/y"></STYLE><textarea><a href=/x></textarea><abbr href="/n"><link-x href="/l">
        <a title="a > b" data-x='<a href="/q">' href='/yes?a=1&amp;b=2'>yes</a><A HREF=/unquoted>"""
    assert page(body).links() == ["https://acme.example/yes?a=1&b=2", "https://acme.example/unquoted"]


class TestCanonical:
    @pytest.mark.parametrize(
        ("stated", "canonical"),
        [
            ("/shop/list", "https://acme.example/shop/list"),
            ("https://www.acme.example/shop", "https://www.acme.example/shop"),
            ("http://acme.example/shop#x", "http://acme.example/shop"),
            ("https://other.example/", None),
            ("https://acme.example.evil.example/", None),
            ("mailto:x@acme.example", None),
            ("", None),
        ],
    )
    def test_it_is_of_the_same_site_only(self, stated: str, canonical: str | None) -> None:
        assert page(f'<link rel="alternate canonical" href="{stated}">').canonical == canonical

    def test_another_site_is_given_when_asked_for(self) -> None:
        found = page('<link rel=canonical href="https://other.example/x">')
        assert found.canonical is None
        assert found.canonical_of_any_site() == "https://other.example/x"

    def test_a_header_goes_first_and_serves_documents_that_are_no_html(self) -> None:
        header = '<https://acme.example/style.css>; rel=preload, </whitepaper>; title="a, b"; rel="canonical"'
        assert page("%PDF", content_type="application/pdf", link=header).canonical == "https://acme.example/whitepaper"
        assert page("<link rel=canonical href=/other>", link=header).canonical == "https://acme.example/whitepaper"

    @pytest.mark.parametrize(
        "header", ["", "<", "<>;rel=canonical", "</a>; rel=notcanonical", "<" * 9_000, "</a>;" * 4_000]
    )
    def test_a_header_that_states_none_is_none(self, header: str) -> None:
        assert canonical_of_header(header, URL) is None


class TestText:
    def test_bytes_that_state_nothing_are_read_by_what_they_look_like(self) -> None:
        for encoding in ("utf-8", "cp1252", "utf-16-le", "utf-16-be"):
            assert page("Zürich – 4 €".encode(encoding), content_type="text/plain").text() == "Zürich – 4 €"

    def test_json_that_is_none_is_one_permanent_error(self) -> None:
        assert page('{"a": [1]}', content_type="application/json").json() == {"a": [1]}
        for body in ("<html>", "[" * 100_000, '{"a": '):
            with pytest.raises(Refused, match=r"acme\.example/shop/list is not JSON"):
                page(body).json()


def test_known_aliases_name_the_page_that_was_fetched_before() -> None:
    found = page('<a href="/a">a</a><a href="/b">b</a>')
    found.note_known({"https://acme.example/a": "https://acme.example/"})
    assert found.links() == ["https://acme.example/b"]
    assert found.alias_of is None
    found.note_known({URL: "https://acme.example/"})
    assert found.alias_of == "https://acme.example/"
    assert len(found.links()) == 2
