"""Rules that read the text of a posting, and the word lists that they use."""

from __future__ import annotations

from importlib.resources import files


def word_list(name: str) -> dict[str, list[str]]:
    """Read a word list of this package: the entries of each section, in the order of the file.

    A line `[section]` begins a section; its entries stand on a line each, or several with "; " between them. A line
    that begins with `# ` is a comment.
    """
    sections: dict[str, list[str]] = {}
    entries: list[str] = []
    for line in (files(__name__) / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            entries = sections.setdefault(line.strip("[]"), [])
        elif line and line != "#" and not line.startswith("# "):
            entries += line.split("; ")
    return sections
