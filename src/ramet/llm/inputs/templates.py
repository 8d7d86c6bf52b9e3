"""A prompt with places for a row's columns: ``Translate {text} into {language}``; ``{{`` and ``}}`` are braces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from string import Formatter
from typing import Any

from ramet.llm.inputs.values import Wrong, shown, unknown


class Template:
    """A template that was read.

    A place holds nothing but the name of a column: no index, attribute or format is looked into, so that a template
    reaches what the row says and nothing else.

    Raises:
        Wrong: it cannot be read, or has no place for a column.
    """

    def __init__(self, words: str) -> None:
        self._parts: list[tuple[str, str | None]] = []
        try:
            for literal, name, form, conversion in Formatter().parse(words):
                if form or conversion:
                    raise Wrong(f"the template's place for {shown(name)} may hold only the name of a column")
                self._parts.append((literal, name))
        except ValueError as error:
            raise Wrong(f"the template cannot be read ({error}); write {{{{ and }}}} for braces") from error
        self.names = tuple(dict.fromkeys(name for _, name in self._parts if name is not None))
        if not self.names:
            raise Wrong("the template has no place for a column, such as {prompt}: every row would ask the same")

    def fill(self, row: Mapping[str, Any]) -> str:
        """The prompt of a row. Values that are no texts are written as JSON.

        Raises:
            Wrong: the row lacks a column, or has no value there.
        """
        pieces: list[str] = []
        for literal, name in self._parts:
            pieces.append(literal)
            if name is not None:
                pieces.append(_value(row, name))
        return "".join(pieces)


def _value(row: Mapping[str, Any], name: str) -> str:
    if name not in row:
        raise Wrong(f"the template wants {unknown(name, row, 'column')}")
    value = row[name]
    if value is None or value == "":
        raise Wrong(f"the template wants '{name}', which is empty")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
