"""The fenced blocks of a page, and what a console block tells to type and shows as the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})(?P<info>.*)$")
NOT_RUN = re.compile(r"<!-- not run: (?P<reason>.+?) -->")
TITLE = re.compile(r'title="(?P<title>[^"]+)"')
BESIDE = re.compile(r"\s+#\s.*$")
HERE_DOCUMENT = re.compile(r"<<-?'?(?P<word>\w+)'?")


class Wrong(AssertionError):
    """A block does not do what the page says."""


class Block(NamedTuple):
    """One fenced block."""

    language: str
    """Empty where the page names none."""
    title: str
    text: str
    line: int
    """Of its fence."""
    not_run: str
    """The reason that the page gives for not running it."""


class Step(NamedTuple):
    """One command of a console block, and what is shown below it."""

    command: str
    shown: str
    line: int

    @property
    def in_background(self) -> bool:
        """Whether the shell goes on without waiting for its end."""
        return self.command.endswith("&") and not self.command.endswith("&&")


def blocks(page: str) -> Iterator[Block]:
    """Every fenced block, those in lists and tabs as well."""
    fence, info, indent, line, text, not_run = "", "", "", 0, list[str](), ""
    for number, row in enumerate(page.splitlines(), start=1):
        if fence:
            if row.strip() == fence:
                title = TITLE.search(info)
                language = info.split(maxsplit=1)[0] if info else ""
                content = "".join(part.removeprefix(indent) + "\n" for part in text)
                yield Block(language, title["title"] if title else "", content, line, not_run)
                fence, not_run = "", ""
            else:
                text.append(row)
        elif found := FENCE.match(row):
            fence, info, indent, line, text = found["fence"], found["info"].strip(), found["indent"], number, []
        elif row.strip():
            marked = NOT_RUN.search(row)
            not_run = marked["reason"] if marked else ""


def steps(block: Block) -> Iterator[Step]:
    """What is typed, and what the page shows as the answer."""
    command, shown, line, until = "", list[str](), 0, ""
    for number, row in enumerate(block.text.splitlines(), start=block.line + 1):
        if until or command.endswith("\\"):
            command += "\n" + row
            until = "" if row == until else until
        elif row.startswith("$ "):
            if command:
                yield Step(command, "\n".join(shown), line)
            command, shown, line = BESIDE.sub("", row[2:]), [], number
            here = HERE_DOCUMENT.search(command)
            until = here["word"] if here else ""
        elif command:
            shown.append(row)
        else:
            raise ValueError(f"line {number}: {row!r} comes before the first command; commands begin with `$ `")
    if command:
        yield Step(command, "\n".join(shown), line)


ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
MOMENT = re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?\b")
DURATION = re.compile(r"\b\d[\d,]*(?:\.\d+)? (?:ms|s|min|h|d)\b")
PID = re.compile(r"\bpid \d+\b")
AGO = re.compile(r"\bDURATION ago\b|\bnow$", flags=re.MULTILINE)


def folded(text: str) -> str:
    """What is the same in every run: without ids, moments, durations, and how wide a column is."""
    for pattern, word in ((ID, "ID"), (MOMENT, "MOMENT"), (DURATION, "DURATION"), (PID, "PID"), (AGO, "AGO")):
        text = pattern.sub(word, text)
    return " ".join(text.split())


def is_shown(shown: str, answer: str) -> bool:
    """Whether an answer is what a page shows; ``...`` on the page stands for anything."""
    parts = [re.escape(part.strip()) for part in folded(shown).split("...")]
    return re.fullmatch(r"\s*.*?\s*".join(parts), folded(answer), flags=re.DOTALL) is not None
