"""Values written as JavaScript in a page's scripts: JSON, and what JSON does not allow (names and texts in single
quotes, names without any, comments, commas at the end). Nothing is run: what is no plain value becomes None."""

from __future__ import annotations

import json
import re
from typing import Any

DEPTH_MAX = 100
TOKENS_MAX = 500_000

_TOKEN = re.compile(
    r"""\s*+(?:(?P<text>"(?:[^"\\]++|\\.)*+(?:"|\Z)|'(?:[^'\\]++|\\.)*+(?:'|\Z)|`(?:[^`\\]++|\\.)*+(?:`|\Z))"""
    r"""|(?P<word>[\w.$+-]++)|(?P<note>//[^\n]*+|/\*.*?(?:\*/|\Z))|(?P<mark>.))""",
    re.DOTALL,
)
_PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_SINGLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "", "\n": ""}
_WORDS = {"true": True, "false": False, "null": None, "undefined": None, "NaN": None}
_OPENING, _CLOSING = "{[(", "}])"


def value_in_script(text: str, start: int = 0) -> tuple[Any, int]:
    """The object or list that begins at a place of a script, and where it ends.

    Raises:
        ValueError: there is none, or it has no end, or lies too deep.
    """
    if text[start : start + 1] in ("{", "["):
        try:
            return json.JSONDecoder(strict=False).raw_decode(text, start)
        except (ValueError, RecursionError):
            pass
    return _Reader(text, start).read()


class _Reader:
    """One value, read token by token; it holds the objects and lists that are open."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._at = start
        self._open: list[Any] = []
        self._key: list[Any] = []
        """Of each open object: the name that its next value has; None before there is one."""
        self._filled: list[bool] = []
        """Whether what stands there has its value already, so that the rest of an expression is passed over."""

    def read(self) -> tuple[Any, int]:
        root: Any = None
        for _ in range(TOKENS_MAX):
            token = _TOKEN.match(self._text, self._at)
            if token is None:
                break
            self._at = token.end()
            mark = token["mark"]
            if mark and mark in "{[":
                made: Any = {} if mark == "{" else []
                self._put(made)
                root = made if not self._open else root
                self._begin(made)
            elif not self._open:
                break
            elif mark and mark in "}]":
                self._end()
                if not self._open:
                    return root, self._at
            else:
                self._go_on(token)
        raise ValueError("no whole object or list begins here")

    def _begin(self, made: Any) -> None:
        if len(self._open) >= DEPTH_MAX:
            raise ValueError("objects lie too deep")
        self._open.append(made)
        self._key.append(None)
        self._filled.append(False)

    def _end(self) -> None:
        self._open.pop()
        self._key.pop()
        self._filled.pop()

    def _go_on(self, token: re.Match[str]) -> None:
        mark = token["mark"]
        if mark == ",":
            self._key[-1], self._filled[-1] = None, False
        elif mark == "(":
            self._pass_over()
        elif token["text"]:
            self._put(_unescaped(token["text"]))
        elif token["word"]:
            self._put(_word(token["word"], name=isinstance(self._open[-1], dict) and self._key[-1] is None))

    def _put(self, value: Any) -> None:
        """A value where it belongs: the name of an object's next value, that value, or an element."""
        if not self._open or self._filled[-1]:
            return
        current = self._open[-1]
        if isinstance(current, list):
            current.append(value)
            self._filled[-1] = True
        elif self._key[-1] is not None:
            current[self._key[-1]] = value
            self._filled[-1] = True
        elif isinstance(value, str):
            colon = _TOKEN.match(self._text, self._at)
            if colon is not None and colon["mark"] == ":":
                self._key[-1], self._at = value, colon.end()

    def _pass_over(self) -> None:
        """What a function is called with."""
        depth = 1
        while depth:
            token = _TOKEN.match(self._text, self._at)
            if token is None:
                raise ValueError("a bracket has no end")
            self._at = token.end()
            mark = token["mark"] or " "
            depth += (mark in _OPENING) - (mark in _CLOSING)


def _word(word: str, *, name: bool) -> Any:
    if name:
        return word
    if word in _WORDS:
        return _WORDS[word]
    try:
        return int(word) if len(word) < 30 and word.lstrip("+-").isdecimal() else float(word)
    except ValueError:
        return None


def _unescaped(written: str) -> str:
    inner = written[1:-1] if len(written) > 1 and written[-1] == written[0] else written[1:]
    return _ESCAPE.sub(_character, _PAIR.sub(_of_pair, inner)) if "\\" in inner else inner


def _of_pair(halves: re.Match[str]) -> str:
    return chr(0x10000 + ((int(halves[1], 16) - 0xD800) << 10) + int(halves[2], 16) - 0xDC00)


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    if code is None:
        return _SINGLE.get(escape[4], escape[4])
    number = int(code, 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
