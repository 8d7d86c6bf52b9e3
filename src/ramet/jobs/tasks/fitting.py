"""Postings of a size that payloads, states and rows take, whatever their board or page says."""

from __future__ import annotations

from ramet.jobs.boards.fields import clean
from ramet.jobs.posting import Posting

BYTES_MAX = 150_000
"""Of a description as JSON. A payload takes 256 KiB; a state has a posting twice, once as what was read of it."""
ESCAPED = 6
"""Bytes of JSON that one character can take."""


def fitting(posting: Posting, characters_max: int) -> Posting:
    """The posting with a description of at most so many characters, and of a size that can be stored.

    What was cut says so at its end. Characters that no database or screen takes are gone from all of its texts.
    """
    changed = {
        name: cleaned
        for name, text in posting
        if isinstance(text, str) and (cleaned := clean(text)) != text and name != "url"
    }
    text = changed.get("description", posting.description)
    shown = _cut(text, characters_max)
    if len(shown) < len(text):
        changed["description"] = f"{shown}\n[cut here: it has {len(text)} characters]"
    return posting.model_copy(update=changed) if changed else posting


def _cut(text: str, characters_max: int) -> str:
    shown = text[:characters_max]
    if len(shown) * ESCAPED <= BYTES_MAX:
        return shown
    size, quotes = len(shown.encode()), sum(map(shown.count, '\n\t"\\'))
    while size + quotes > BYTES_MAX:
        shown = shown[: len(shown) * BYTES_MAX // (size + quotes) * 99 // 100]
        size, quotes = len(shown.encode()), sum(map(shown.count, '\n\t"\\'))
    return shown
