"""Count the wording that this project has retired, by package: ``python -m tests.project.wording [ROOT] [--sample]``.

The rules are those of docs/glossary.md: no docstring opens with What, Who or Where, no sentence of a docstring or
comment begins with What or Who, no docstring of an attribute is a fragment that depends on the line above, and no
docstring, comment or message has a word of :data:`RETIRED`. Text in backquotes is a quotation and does not count.

With ``--sample`` the script prints 100 docstrings instead, those whose names have the smallest hashes with
:data:`SEED`: the draw stays the same while texts change.
"""

from __future__ import annotations

import ast
import hashlib
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).parents[2]
SEED = "ramet 0.2"
SAMPLE_SIZE = 100
OPENINGS = "openings"
SENTENCES = "sentences"
FRAGMENTS = "fragments"
RETIRED = {
    "nobody": r"nobody",
    "somebody": r"somebody",
    "whoever": r"who(?:m)?ever",
    "so many": r"so many",
    "told": r"told",
    "anew": r"anew",
    "in hand": r"in hand",
    "stands": r"stands",
    "mend": r"mend(?:s|ed|ing)?",
    "by hand": r"by hand",
    "dearest": r"dearest",
    "bears": r"bears",
    "is no X": r"(?<!there )is no(?= (?!longer\b|more\b|less\b))",
}
"""Word -> the pattern that finds it, in lower-case text."""

_PATTERNS = {word: re.compile(rf"\b{pattern}\b") for word, pattern in RETIRED.items()}
_OPENING = re.compile(r"(?:What|Who|Whom|Whose|Whoever|Whatever|Where)\b")
_SENTENCE = re.compile(r"(?:^|[.:;?] )(?:What|Who|Whom|Whose|Whoever)\b")
_FRAGMENT = re.compile(
    r"(?:Of|In|By|With|From|For|To|At|Beside|As|Until|After|Before|On|Without|Than|Above|Below|Under|Because|If|And|Or)\b"
)
_QUOTED = re.compile(r"``.*?``|`[^`\n]*`", re.DOTALL)
_BLOCK = re.compile(r"^ *```.*?^ *```|<!--.*?-->", re.DOTALL | re.MULTILINE)
NOT_PROSE = ("docs/glossary.md", "docs/traceability.md", "docs/decisions/0136-wording-is-counted.md")
"""Pages that list the words, or names of tests."""
_SQL = re.compile(r"\b(?:SELECT|INSERT|UPDATE|CREATE TABLE|DELETE FROM)\b")


class Docstring(NamedTuple):
    """A docstring of a module, a class, a function or an attribute."""

    name: str
    """Qualified name in its file."""
    text: str
    line: int
    is_attribute: bool


@cache
def packages(root: Path) -> tuple[str, ...]:
    """Return the packages of ramet, by name."""
    return tuple(sorted(path.parent.name for path in (root / "src" / "ramet").glob("*/__init__.py")))


def docstrings(tree: ast.Module) -> Iterator[Docstring]:
    """Yield every docstring of a file."""

    def walk(node: ast.AST, name: str) -> Iterator[Docstring]:
        body = getattr(node, "body", [])
        before: ast.stmt | None = None
        for statement in body if isinstance(body, list) else []:
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    first = statement is body[0] and isinstance(node, ast.Module | ast.ClassDef | _FUNCTION)
                    if first:
                        yield Docstring(name, text, statement.lineno, False)
                    elif isinstance(before, ast.Assign | ast.AnnAssign):
                        target = before.targets[0] if isinstance(before, ast.Assign) else before.target
                        yield Docstring(f"{name}.{ast.unparse(target)}".strip("."), text, statement.lineno, True)
            before = statement
        for child in ast.iter_child_nodes(node):
            inner = child.name if isinstance(child, ast.ClassDef | _FUNCTION) else ""
            yield from walk(child, f"{name}.{inner}".strip(".") if inner else name)

    yield from walk(tree, "")


_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def comments(tokens: Sequence[tokenize.TokenInfo]) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of every comment of a file; lines that follow each other are one comment."""
    comment: list[str] = []
    first = last = 0
    for token in tokens:
        if token.type == tokenize.COMMENT:
            if comment and token.start[0] != last + 1:
                yield first, " ".join(comment)
                comment = []
            first = token.start[0] if not comment else first
            last = token.start[0]
            comment.append(token.string.lstrip("# "))
    if comment:
        yield first, " ".join(comment)


def strings(tokens: Sequence[tokenize.TokenInfo]) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of every string of a file, docstrings included and SQL left out: columns keep their names."""
    for token in tokens:
        if token.type in (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)):
            text = token.string.replace("\\n", " ")
            if not _SQL.search(text) and text.strip("\"'") not in RETIRED:
                yield token.start[0], text


def retired_words(text: str) -> Iterator[str]:
    """Yield every retired word in a text, once for each time it occurs."""
    plain = " ".join(_QUOTED.sub("`", text).lower().split())
    for word, pattern in _PATTERNS.items():
        for _ in pattern.finditer(f"{plain} "):
            yield word


def findings(root: Path, package: str) -> Iterator[tuple[str, str]]:
    """Yield (place, kind) of everything in a package that the glossary retires: a word, an opening or a fragment."""
    for path in sorted((root / "src" / "ramet" / package).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        place = path.relative_to(root).as_posix()
        for docstring in docstrings(ast.parse(source)):
            text = docstring.text.strip()
            if _OPENING.match(text):
                yield f"{place}:{docstring.line}", OPENINGS
            elif docstring.is_attribute and _FRAGMENT.match(text):
                yield f"{place}:{docstring.line}", FRAGMENTS
            elif _SENTENCE.search(" ".join(text.split())):
                yield f"{place}:{docstring.line}", SENTENCES
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
        for line, text in comments(tokens):
            if _SENTENCE.search(text):
                yield f"{place}:{line}", SENTENCES
        for line, text in (*comments(tokens), *strings(tokens)):
            for word in retired_words(text):
                yield f"{place}:{line}", word


def page_findings(root: Path) -> Iterator[tuple[str, str]]:
    """Yield (page, word) of every retired word in the pages that people wrote, code blocks left out."""
    pages = [root / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md") if (root / name).exists()]
    pages += (root / "docs").rglob("*.md")
    for path in sorted(pages):
        page = path.relative_to(root).as_posix()
        if page not in NOT_PROSE and not page.startswith("docs/reference/"):
            for word in retired_words(_BLOCK.sub("", path.read_text(encoding="utf-8"))):
                yield page, word


def docstring_count(root: Path, package: str) -> int:
    """Return the number of docstrings of a package."""
    files = (root / "src" / "ramet" / package).rglob("*.py")
    return sum(1 for path in files for _ in docstrings(ast.parse(path.read_text(encoding="utf-8"))))


def sample(root: Path) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of the docstrings that the seed draws from all packages."""
    drawn = []
    for path in sorted((root / "src" / "ramet").rglob("*.py")):
        place = path.relative_to(root).as_posix()
        for docstring in docstrings(ast.parse(path.read_text(encoding="utf-8"))):
            name = f"{place}::{docstring.name}"
            drawn.append((hashlib.sha256(f"{SEED} {name}".encode()).digest(), name, " ".join(docstring.text.split())))
    for _, name, text in sorted(drawn)[:SAMPLE_SIZE]:
        yield name, text


def main(arguments: list[str]) -> None:
    """Print the table of all packages, or the sample."""
    places = [argument for argument in arguments if not argument.startswith("-")]
    root = Path(places[0]) if places else PROJECT
    if "--sample" in arguments:
        for name, text in sample(root):
            print(f"{name}\n    {text}")
        return
    columns = [OPENINGS, SENTENCES, FRAGMENTS, *RETIRED]
    print("package", "docstrings", *columns, sep="\t")
    for package in packages(root):
        count = Counter(kind for _, kind in findings(root, package))
        print(package, docstring_count(root, package), *(count[column] for column in columns), sep="\t")


if __name__ == "__main__":
    main(sys.argv[1:])
