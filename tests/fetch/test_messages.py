"""What an answer tells of itself; in which encoding it is read."""

from __future__ import annotations

import pytest

from ramet.fetch.messages import Request, Response, charset_of, known, text_of_bytes

WORD = "Zürich – «Ingénieur»"


def answer(body: bytes = b"", status: int = 200, **headers: str) -> Response:
    return Response(
        "https://example.com/", status, {name.replace("_", "-"): value for name, value in headers.items()}, body
    )


def test_a_request_is_a_get_without_headers() -> None:
    assert (Request("https://a.example/").method, Request("https://a.example/").headers) == ("GET", {})


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (WORD.encode(), ""),
        (WORD.encode(), "text/html; charset=UTF-8"),
        (WORD.encode("cp1252"), "text/html;charset=iso-8859-1"),
        (WORD.encode("cp1252"), 'text/html; charset="windows-1252"'),
        (b"\xef\xbb\xbf" + WORD.encode(), "text/html; charset=iso-8859-1"),
        (b"\xff\xfe" + WORD.encode("utf-16-le"), "application/json"),
        (b"\xfe\xff" + WORD.encode("utf-16-be"), ""),
    ],
    ids=["nothing said", "header", "latin", "quoted", "mark before header", "little", "big"],
)
def test_text_is_read_by_mark_then_header(body: bytes, content_type: str) -> None:
    assert text_of_bytes(body, content_type) == WORD


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        (b'<html><head><meta charset="windows-1251">', "cp1251"),
        (b'<meta http-equiv=Content-Type content="text/html; charset=Shift_JIS">', "cp932"),
        (b'<?xml version="1.0" encoding="ISO-8859-15"?><rss/>', "iso8859-15"),
        (b'<meta charset="utf-16">', "utf-8"),
        (b'<meta charset="nonsense">', "utf-8"),
        (b'<meta charset="punycode">', "utf-8"),
        (b"<p>charset=koi8-r</p>", "utf-8"),
        (b" " * 5_000 + b"<meta charset=koi8-r>", "utf-8"),
    ],
)
def test_a_document_names_its_encoding_at_its_beginning(body: bytes, charset: str) -> None:
    assert charset_of(body) == charset


@pytest.mark.parametrize("label", ["hex", "zlib", "idna", "unicode_escape", "utf-7", "rot13", "", "\x00", "x" * 40])
def test_what_is_no_encoding_of_pages_is_not_known(label: str) -> None:
    assert known(label) is None


def test_broken_bytes_become_marks_of_that() -> None:
    assert answer(b"caf\xe9 \xc3\xa9", content_type="text/html; charset=utf-8").text == "caf� é"


def test_a_megabyte_that_never_ends_a_tag_is_read() -> None:
    assert charset_of(b"<meta " * 200_000) == "utf-8"
    assert len(text_of_bytes(b"<meta " * 200_000)) == 1_200_000


def test_an_answer_tells_its_type_and_its_validators() -> None:
    told = answer(
        content_type="Application/JSON; charset=utf-8", etag='W/"7"', last_modified="Tue, 10 Nov 2026 10:00:00 GMT"
    )
    assert told.media_type == "application/json"
    assert told.validators == {"etag": 'W/"7"', "last_modified": "Tue, 10 Nov 2026 10:00:00 GMT"}
    assert not told.unchanged
    assert answer().media_type == ""
    assert answer().validators == {}


def test_an_unchanged_answer_says_so() -> None:
    assert answer(status=304).unchanged
