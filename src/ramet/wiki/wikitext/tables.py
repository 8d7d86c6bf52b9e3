"""The fourth pass of the text: tables give way to the texts of their cells, a line of cells to a line."""

from __future__ import annotations

import re

from ramet.wiki.wikitext.marks import CELL, GONE

_LINE = re.compile(rf"^([ :{GONE}]*+)(\{{\||\|[}}+-]?|!)(.*)$", re.MULTILINE)


def without_tables(text: str) -> str:
    """`text` with the marks of tables and their cells' attributes left out. Needs links to be gone.

    A line that begins with `|` is a table's, wherever it stands: templates, which are not known here, begin and end
    tables too.
    """
    depth = 0

    def replaced(line: re.Match[str]) -> str:
        nonlocal depth
        before, mark, rest = line.groups()
        if mark == "{|":
            depth += 1
            return ""
        if mark == "|}":
            depth = max(0, depth - 1)
            return rest
        if mark == "|-":
            return GONE
        if mark == "!":
            if not depth:
                return line[0]
            rest = rest.replace("!!", "||")
        return before.strip(" :") + CELL.join(filter(None, map(_content, rest.split("||"))))

    return _LINE.sub(replaced, text)


def _content(cell: str) -> str:
    """What a cell says, without the attributes before its `|`."""
    attributes, bar, content = cell.partition("|")
    return (content if bar else attributes).strip()
