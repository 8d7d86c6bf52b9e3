"""Count the sentences of real pages that lose words, because a template that is not known shows them.

    python -m benchmarks.wiki_lost_text FOLDER [--language en] [--most 30]

FOLDER holds pages as wikitext, one a file (`*.txt`, `*.wikitext`), or JSON lines with `wikitext`. It prints how many
sentences there are, how many lose text, and the templates by the number of sentences that they are lost from.
Templates that show no words of a sentence are left out: notes, references, requests for work, flags, sort keys.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ramet.wiki.wikitext.markup import read_extensions, with_labels, without_tables, without_templates
from ramet.wiki.wikitext.plain_text import GONE, clean, plain
from ramet.wiki.wikitext.site import Site
from ramet.wiki.wikitext.titles import CANONICAL_NAMESPACES

NESTED_MAX = 40
WORDS_MIN = 4
"""Words that a sentence has at least; less is a cell of a table or the like."""
_INNERMOST = re.compile(r"\{\{([^{}]*)\}\}")
_MARK = re.compile("\ue000([0-9]+)\ue001")
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=\u3002)|\n+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_NO_WORDS = re.compile(
    r"cit[ea]\b.*|citation.*|cit\.? .*|harv.*|sfn.*|r|rp|refn|ref.*|#tag.*|efn.*|notelist.*|note.*|isbn|"
    r"issn|doi|oclc|wikicite|.*needed.*|.*cn|fact|clarify.*|when.*|who.*|which.*|by whom.*|where.*|why.*|"
    r"how.*|what.*|dubious.*|vague.*|specify|fail.*|.*inline|better.*|original research.*|or|pov.*|"
    r"disputed.*|according.*|examples?|undue.*|weasel.*|update.*|verif.*|request.*|self.*published.*|"
    r"unreliable.*|primary.*|importance.*|page.*|quantify|contradict.*|disambig.*|dead link.*|"
    r"web ?archive.*|wayback|flagicon.*|flag icon.*|0+|sort.*|hs|number table.*|anchor.*|clear.*|-|"
    r"infobox.*|main.*|see also.*|further.*|about|redirect.*|use .*|engvar.*|short description.*|pp-.*|"
    r"portal.*|commons.*|coord.*|featured.*|good article.*|sister.*|multiple image.*|image.*|listen.*|"
    r"quote box.*|toc.*|div col.*|end.*|col-.*|featured article|.*-stub|stub.*|subscription.*|"
    r"registration.*|paywall.*|in lang|.* icon|full|incomplete.*|wikisource.*|dynamic list|small|legend.*|"
    r"won|nom|yes|no|n/a|tba|increase|decrease|steady|gold.*|unbulleted.*|double image.*|defaultsort.*"
    r"|r from .*|r unprintworthy",
    re.IGNORECASE | re.DOTALL,
)
_NO_WORDS_ELSEWHERE = re.compile(
    "[a-z]{2}|lingue|en langue|mul|,|bandiera|drapeau|bandera|flagg?bild|flaga|.* lippu|zászló|флагче|прапорець|"
    "флаг .*|citazione necessaria|référence insuffisante|actualizar|нет аи|要出典|carece de fontes|bron\\?|lähde|dnb|"
    "bnf|absatz|br|pranala mati|anker|google buch|passo biblico"
)
"""In languages other than English: flags, languages of links, requests for sources, links to catalogues."""


@dataclass(slots=True)
class Lost:
    """Counts of sentences, of those that lose text, and of the latter by the casefolded name of a template."""

    sentences: int = 0
    losing: int = 0
    templates: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """Of the sentences, from 0 to 1."""
        return self.losing / self.sentences if self.sentences else 0.0


def lost_text(texts: Iterable[str], site: Site) -> Lost:
    """Count the sentences of pages, and what they lose."""
    lost = Lost()
    for text in texts:
        shown, names = _marked(text, site)
        for sentence in _SENTENCES.split(shown):
            if _words(_MARK.sub("", sentence)) < WORDS_MIN:
                continue
            lost.sentences += 1
            found = {names[int(mark)] for mark in _MARK.findall(sentence)}
            bearing = {name for name in found if not _shows_no_words(name, site)}
            lost.losing += bool(bearing)
            lost.templates.update(bearing)
    return lost


def _words(sentence: str) -> int:
    """About as many as there are: those of Chinese and Japanese are counted as two characters each."""
    return len(sentence.split()) + len(_UNSPACED.findall(sentence)) // 2


def _shows_no_words(template: str, site: Site) -> bool:
    if _NO_WORDS.fullmatch(template):
        return True
    return not site.english and _NO_WORDS_ELSEWHERE.fullmatch(template) is not None


def _marked(text: str, site: Site) -> tuple[str, list[str]]:
    """A page's plain text with the number of each template that is lost, and their names."""
    names: list[str] = []

    def shown(template: re.Match[str]) -> str:
        text = without_templates(_MARK.sub(GONE, template[0]), site)
        if text != GONE:
            return text
        names.append(" ".join(template[1].partition("|")[0].replace("_", " ").split()).casefold())
        return f"\ue000{len(names) - 1}\ue001"

    text = "".join(read_extensions(clean(text)).text)
    for _ in range(NESTED_MAX):
        text, replaced = _INNERMOST.subn(shown, text)
        if not replaced:
            break
    return plain(without_tables(with_labels(text, site))), names


def pages_in(folder: Path) -> Iterator[str]:
    """The texts of a folder's pages, in the order of their files."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".txt", ".wikitext"):
            yield path.read_text(encoding="utf-8", errors="replace")
        elif path.suffix == ".jsonl":
            for line in path.read_text(encoding="utf-8").splitlines():
                yield json.loads(line)["wikitext"]


def main() -> None:
    """Print the figures of a folder."""
    parser = argparse.ArgumentParser(description="Sentences that lose the text of templates.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--language", default="en", help="code of the pages' language")
    parser.add_argument("--most", type=int, default=30, help="templates that are listed")
    asked = parser.parse_args()
    site = Site(asked.language, CANONICAL_NAMESPACES, language=asked.language)
    lost = lost_text(pages_in(asked.folder), site)
    print(f"{lost.losing} of {lost.sentences} sentences ({lost.share:.2%}) lose the text of templates")
    for name, count in lost.templates.most_common(asked.most):
        print(f"{count:6} {name[:80]}")


if __name__ == "__main__":
    main()
