"""Tokens of a request before the provider counts them: an upper bound to reserve by, and a likely number.

Tokenizers cut text into words, and words into pieces that they saw often. Ordinary words are one or two tokens; each
digit, capital and punctuation mark can be one, and so can each byte of a rare script. The bound counts them so. It
holds for prose, code, JSON, CSV, hexadecimal and base64, and is about twice the truth for the first two; only long runs
of random small letters have more tokens than it says. A cost beyond it is booked in full.

With the package quicktok installed, the text of OpenAI's models is counted exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any

from ramet.commands.extras import import_extra
from ramet.llm.requests import Request, canonical

REQUEST_TOKENS = 16
"""Tokens that a provider puts around a conversation."""
MESSAGE_TOKENS = 8
"""Tokens that it puts around a message."""
STRUCTURE_TOKENS = 600
"""Tokens that it puts before a schema, when it turns structured output into the use of a tool."""
IMAGE_TOKENS = 10_000
"""The most that an image becomes at full detail; providers scale larger ones down."""
IMAGE_TOKENS_OF = {"gpt-4o-mini": 50_000}
"""Models that count images in larger tokens."""
FILE_TOKENS = 200_000
"""A file, sound or the like that is named but not there: its length cannot be looked up."""
BYTES_PER_TOKEN = 4
"""Bytes of ordinary text that are one token, about."""

_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
_ENCODINGS = (
    (re.compile(r"(gpt-4o|chatgpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|gpt-oss|o1|o3|o4)(?![0-9a-z])"), "o200k_base"),
    (re.compile(r"(gpt-4|gpt-3\.5)(?![0-9a-z.])"), "cl100k_base"),
)
"""Models whose tokenizer is known, the longer names first."""

Count = Callable[[str], int]


def text_tokens(text: str) -> int:
    """Upper bound of a text's tokens, by its characters alone."""
    plain = text.encode("ascii", "ignore")
    rest = plain.translate(None, _LETTERS)
    spaces = rest.count(b" ")
    rare = len(text.encode("utf-8", "replace")) - len(text)
    """Each character outside of ASCII counts one less than its bytes."""
    thirds = (len(plain) - len(rest)) + 2 * spaces + 3 * (len(rest) - spaces) + 3 * rare
    return -(-thirds * 11 // 30)


def likely_text_tokens(text: str) -> int:
    """About as many as an ordinary text has."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


@cache
def exact_counter(model: str) -> Count | None:
    """Return the exact counter of a text's tokens; None for a model whose tokenizer is not at hand."""
    name = model.lower().removeprefix("ft:").rpartition("/")[2]
    found = next((encoding for pattern, encoding in _ENCODINGS if pattern.match(name)), None)
    if found is None or find_spec("quicktok") is None:
        return None
    count: Count = import_extra("quicktok", "quicktok-v1").get_encoding(found).count
    return count


def estimated_tokens(request: Request) -> int:
    """Upper bound of a request's input tokens: what is reserved, and what a rate limit is asked for."""
    return _tokens(request, exact_counter(request.model) or text_tokens, bounded=True)


def likely_tokens(request: Request) -> int:
    """About how many input tokens a request has: for estimates, not for reservations."""
    return _tokens(request, exact_counter(request.model) or likely_text_tokens, bounded=False)


def _tokens(request: Request, count: Count, *, bounded: bool) -> int:
    total = REQUEST_TOKENS + MESSAGE_TOKENS * len(request.messages)
    for message in request.messages:
        content = message.get("content")
        if not message.keys() <= _PLAIN:
            total += count(canonical({name: part for name, part in message.items() if name not in _PLAIN}))
        if isinstance(content, str):
            total += count(content)
        elif isinstance(content, list | tuple):
            total += sum(_part_tokens(part, request.model, count) for part in content)
    if request.schema is not None:
        total += count(canonical(request.schema)) + (STRUCTURE_TOKENS if bounded else 0)
    tools = request.parameters.get("tools")
    if tools is not None:
        total += count(canonical(tools)) + (STRUCTURE_TOKENS if bounded else 0)
    return total


_PLAIN = frozenset({"role", "content"})
"""Keys that every message has."""
_AS_TEXT = frozenset({"tool_use", "thinking", "redacted_thinking", "refusal"})
"""Parts that hold nothing but text, under names of their own."""


def _part_tokens(part: Any, model: str, count: Count) -> int:
    """Tokens of one part of a message: text as text, an image at its most, and others by their data."""
    if isinstance(part, str):
        return count(part)
    if not isinstance(part, Mapping):
        return count(canonical(part))
    kind = str(part.get("type", ""))
    if kind == "tool_result":
        content = part.get("content")
        inner = content if isinstance(content, list | tuple) else [content or ""]
        return MESSAGE_TOKENS + sum(_part_tokens(one, model, count) for one in inner)
    if kind in _AS_TEXT:
        return count(canonical(part))
    text = part.get("text")
    if isinstance(text, str):
        return count(text)
    if "image" in kind:
        return next((most for name, most in IMAGE_TOKENS_OF.items() if model.startswith(name)), IMAGE_TOKENS)
    data = max((len(value) for value in _strings(part) if not value.startswith("http")), default=0)
    # A token of sound or of a page covers many bytes of its file.
    return max(FILE_TOKENS if data < 100 else 0, data) + count(kind)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
