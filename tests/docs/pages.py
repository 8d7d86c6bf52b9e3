"""The pages of the project, and their parts."""

from __future__ import annotations

import re
from pathlib import Path

PROJECT = Path(__file__).parents[2]
DOCS = PROJECT / "docs"
README = PROJECT / "README.md"
REFERENCE = DOCS / "reference"
PATTERNS = ("*.md", "docs/**/*.md", "examples/**/*.md", "benchmarks/**/*.md")
PAGES = sorted(path for pattern in PATTERNS for path in PROJECT.glob(pattern))


def name_of(page: Path) -> str:
    """Its place in the project."""
    return page.relative_to(PROJECT).as_posix()


def text_of(path: Path) -> str:
    """What a file says."""
    return path.read_text(encoding="utf-8")


def prose_of(page: str) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)


def blocks_of(page: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
