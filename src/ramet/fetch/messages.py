"""In which encoding the bytes of a page or feed are to be read.

As browsers do it: what a byte order mark says goes first, then the header, then what the document says of itself, and
then what its bytes look like.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

HEAD_BYTES = 2_048
"""Bytes of a document that are searched for its own declaration. Browsers look at the first 1,024; some pages have it
later.
"""

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_PARAMETER = re.compile(r"""charset\s{0,8}=\s{0,8}["']?([\w.:-]{1,40})""", re.IGNORECASE)
_META = re.compile(rb"""<meta\b[^>]{0,400}?charset\s{0,8}=\s{0,8}["']?([\w.:-]{1,40})""", re.IGNORECASE)
_XML = re.compile(rb"""\A\s{0,16}<\?xml\b[^>]{0,200}?encoding\s{0,8}=\s{0,8}["']([\w.:-]{1,40})""")

_READ_AS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
}
"""Encodings that servers name where they mean a larger one."""
_KNOWN = frozenset(
    "utf-8 utf-16-le utf-16-be cp866 cp874 cp932 cp949 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 "
    "iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13 iso8859-14 "
    "iso8859-15 iso8859-16 koi8-r koi8-u mac-roman mac-cyrillic gb18030 big5 big5hkscs euc_jp iso2022_jp".split()
)
"""Encodings that the web uses. Python knows more, some of which are not encodings of pages and slow (``punycode``)."""


def text_of_bytes(body: bytes, content_type: str = "") -> str:
    """Return a document as text. Bytes without a character in its encoding become U+FFFD; never raises.

    Args:
        content_type: the header, with its parameters; empty if there is none.
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, errors="replace")
    return body.decode(charset_of(body, content_type), errors="replace")


def charset_of(body: bytes, content_type: str = "") -> str:
    """Return the name of the codec that a document without a byte order mark is to be read with."""
    stated = _PARAMETER.search(content_type[:400])
    if stated is not None and (name := known(stated[1])):
        return name
    head = body[:HEAD_BYTES]
    for pattern in (_XML, _META):
        found = pattern.search(head)
        if found is not None and (name := known(found[1].decode("ascii", errors="replace"))):
            # A document with this word in ASCII is not UTF-16.
            return "utf-8" if name.startswith("utf-16") else name
    return _detected(body)


def _detected(body: bytes) -> str:
    """Guess the encoding of bytes that state none: UTF-8, UTF-16 of Western text, or the Windows encoding that browsers
    take.
    """
    head = body[:HEAD_BYTES]
    for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(head) >= 4 and head[first::2].count(0) > len(head) // 4 and not head[1 - first :: 2].count(0):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)  # The last character may be cut off.
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def known(label: str) -> str | None:
    """Return the codec that a label means on the web; None for none that the web has."""
    try:
        name = codecs.lookup(label.strip()).name
    except (LookupError, ValueError):
        return None
    name = _READ_AS.get(name, name)
    return name if name in _KNOWN else None


NOT_MODIFIED = 304


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a server.

    Attributes:
        url: absolute, http or https.
        method: ``GET`` or ``POST``.
        body: of a POST.
        headers: beside those that every request has; ``Content-Type`` of a body, ``Accept``.
    """

    url: str
    method: str = "GET"
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Response:
    """Answer of a server.

    Attributes:
        url: the address that answered, after redirects.
        status: HTTP's; 2xx or 304.
        headers: by lower-case name; of a repeated one, the last.
        body: decoded; empty where nothing changed.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body, by the encoding that it or its header names. Each call decodes it."""
        return text_of_bytes(self.body, self.headers.get("content-type", ""))

    @property
    def media_type(self) -> str:
        """The content type without parameters, such as `application/json`; empty if none is stated."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def unchanged(self) -> bool:
        """Whether it is still what the validators of the request were given for."""
        return self.status == NOT_MODIFIED

    @property
    def validators(self) -> dict[str, str]:
        """Validators for the next request for the same, as :meth:`Fetcher.fetch` takes them.

        ``etag`` and ``last_modified``, as far as the server named them.
        """
        named = {"etag": self.headers.get("etag"), "last_modified": self.headers.get("last-modified")}
        return {name: value for name, value in named.items() if value}
