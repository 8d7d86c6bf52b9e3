"""What mkdocs does not do by itself, so that the same pages read well on a forge and as a site.

On a forge a link may lead to any file of the project. The site has pages for those that readers need: the README, how
to contribute, the changes and the examples, programs included. Links in Markdown and in HTML are led there.

``nav`` may name pages by patterns; the page of decisions is written from their headings.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import ConfigurationError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PROJECT = Path(__file__).resolve().parents[1]
DOCS = "docs"
PAGES = {
    "README.md": "project/readme.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changes.md",
    "LICENSE": "project/licence.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "examples/README.md": "examples/README.md",
}
"""Files of the project outside docs/, and their pages. Every program of examples/ gets one as well."""
DECISIONS = "decisions/README.md"

LINK = re.compile(r"(?P<before>\]\(|\bsrc(?:set)?=\")(?P<target>[^)\s\"]+)(?P<after>[)\"])")
FENCED = re.compile(r"^(?P<fence>```+).*?^(?P=fence)$", flags=re.MULTILINE | re.DOTALL)


def outside() -> dict[str, str]:
    """Every file outside docs/ that has a page, with the page's place in the site's sources."""
    programs = sorted(path.name for path in (PROJECT / "examples").glob("*.py"))
    return PAGES | {f"examples/{name}": f"examples/{name.removesuffix('.py')}.md" for name in programs}


def text_of(file: str) -> str:
    """The Markdown of a file of the project: its own, or the file as a block."""
    text = (PROJECT / file).read_text(encoding="utf-8")
    name = posixpath.basename(file)
    if file.endswith(".md"):
        return text
    if file.endswith(".py"):
        return f"# {name}\n\n```python\n{text}```\n"
    return f"# {name.title()}\n\n```text\n{text}```\n"


def heading_of(path: Path) -> str:
    """The first heading of a page."""
    found = re.search(r"^# (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found is None:
        raise ConfigurationError(f"{path} has no heading")
    return found[1]


def decisions() -> str:
    """A page of all decisions: newcomers look for a question, not for a number."""
    rows = [f"- [{heading_of(path)}]({path.name})" for path in sorted((PROJECT / DOCS / "decisions").glob("[0-9]*.md"))]
    lead = "The choices that a newcomer would question, in the order in which they were made, each with its reason."
    return "\n".join(["# Decisions", "", lead, "", *rows, ""])


# --- links


def led(target: str, from_file: str, at_page: str, pages: dict[str, str]) -> str:
    """Where a relative link leads in the site's sources, from a page that was written as ``from_file``."""
    path, mark, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:|/", target):
        return target
    file = posixpath.normpath(posixpath.join(posixpath.dirname(from_file), path))
    if (PROJECT / file).is_dir():
        file = f"{file}/README.md"
    place = pages.get(file, file.removeprefix(f"{DOCS}/"))
    return posixpath.relpath(place, posixpath.dirname(at_page) or ".") + mark + anchor


def outside_blocks(change: Callable[[str], str], text: str) -> str:
    """A page with its prose changed and its fenced blocks as they are."""
    done, last = [], 0
    for block in FENCED.finditer(text):
        done += [change(text[last : block.start()]), block[0]]
        last = block.end()
    return "".join([*done, change(text[last:])])


# --- what mkdocs calls


def expanded(nav: list[Any], pages: list[str]) -> Iterator[Any]:
    """A nav with the pages in the place of patterns."""
    for item in nav:
        match item:
            case str() if "*" in item:
                yield from sorted(
                    page for page in pages if Path(page).match(item) and page.count("/") == item.count("/")
                )
            case dict():
                yield {
                    title: list(expanded(below, pages)) if isinstance(below, list) else below
                    for title, below in item.items()
                }
            case _:
                yield item


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the pages that patterns of the nav stand for."""
    own = [path.relative_to(config.docs_dir).as_posix() for path in Path(config.docs_dir).rglob("*.md")]
    config.nav = list(expanded(config.nav or [], sorted({*own, *outside().values(), DECISIONS})))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of what is outside docs/."""
    for file, place in outside().items():
        files.append(File.generated(config, place, content=text_of(file)))
    files.append(File.generated(config, DECISIONS, content=decisions()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to the pages of the site."""
    pages, at = outside(), page.file.src_uri
    written_as = next((file for file, place in pages.items() if place == at), f"{DOCS}/{at}")

    def change(prose: str) -> str:
        return LINK.sub(lambda link: link["before"] + led(link["target"], written_as, at, pages) + link["after"], prose)

    return outside_blocks(change, markdown)
