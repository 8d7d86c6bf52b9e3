"""What stands in the tests' MediaWiki: pages that are awkward on purpose, and an island group of two hundred villages.

Every page can be reached from `ATLAS`, so that an expansion from there meets all of it.
"""

from __future__ import annotations

import random
import unicodedata
from xml.sax.saxutils import escape

ATLAS = "Atlas of the Sound"
VILLAGES = 200
HUB_LINKS = 620
HUB_CATEGORIES = 60

DECOMPOSED = unicodedata.normalize("NFD", "Møllerå Havn")
"""A title as a file system of another kind would spell it; the wiki has it composed."""

REDIRECTS = {
    "Round A": "Round B",
    "Round B": "Round A",
    "Own tail": "Own tail",
    "Long ring 1": "Long ring 2",
    "Long ring 2": "Long ring 3",
    "Long ring 3": "Long ring 1",
    "Into the ring": "Long ring 2",
    "Old ferry": "Ferry crossing",
    "Oldest ferry": "Old ferry",
    "To nowhere": "A page that nobody wrote",
    "Ferry timetable": "Ferry crossing#Timetable",
    "Abroad": "wikipedia:Sound (geography)",
    "The islands": ":Category:Islands",
}

EDGES = {
    "Ferry crossing": (
        "The '''ferry crossing''' joins both shores at [[village 001]]; see [[bell (disambiguation)|bells]].\n"
        "== Timetable ==\nAll day, says the [[ferry_crossing|same]] [[Oldest ferry]], past [[Møllerå Havn]].\n"
        "=== Winter ===\nSeldom.\n== Fares ==\nPaid in [[C# & friends?]] or at [[:Category:Islands]]; "
        "ask [[Talk:Ferry crossing]] or [[fr:Bac]].\n<nowiki>[[Only shown]]</nowiki> <!-- [[Only said]] -->\n"
        "[[Category:Islands]] [[category:islands|Crossing]] {{Foot}}"
    ),
    "Bell (disambiguation)": "'''Bell''' may be\n* [[Bell (buoy)]]\n* [[Village 002]]\n{{Either}}",
    "Møllerå Havn": "Spelt in two ways: [[Møllera&#x30A; Havn]]. Beside it lies [[Village 003]].",
    "C & friends?": "An odd name, near [[Village 004]].",
    "North/South": "A name with a slash, near [[Village 005]].",
    'Peter\'s "Rest"': "A name with quotes, near [[Village 006]].",
    "A": "A name of one letter.",
    "Broken": "{{Box | a = {{open | [[half link | [[whole]] \n{| class=x\n| cell\n== Part ==\n<ref>never closed\n"
    "=== Deeper ===\n'''bold ''slanted",
    "Blank page": "",
    "Harbour list": "\n".join(f"* [[Berth {number:04}]]" for number in range(HUB_LINKS))
    + "\n"
    + "\n".join(f"[[Category:Berths {number}]]" for number in range(HUB_CATEGORIES)),
    "Kept apart": "It is in a category that is not shown. [[Category:Checked by hand]]",
    "Template:Foot": "<noinclude>How to use it: [[Only for writers]]</noinclude>"
    "<includeonly>[[Seen on every page]] [[Category:Pages with a foot]]</includeonly>",
    "Template:Either": "This title means several things. __DISAMBIG__ [[Category:Titles with several meanings]]",
    "Category:Islands": "What is surrounded by water.",
    "Category:Checked by hand": "Seen by the people who keep the wiki. __HIDDENCAT__",
    "Talk:Ferry crossing": "Is it still running?",
}


def village(number: int) -> str:
    """The title of a village."""
    return f"Village {number % VILLAGES:03}"


def villages() -> dict[str, str]:
    """Two hundred linked articles; every one is linked from the one before it."""
    rng = random.Random(6)
    texts = {}
    for number in range(VILLAGES):
        near = [village(number + 1), *(village(rng.randrange(VILLAGES)) for _ in range(4))]
        links = ", ".join(f"[[{title}]]" for title in dict.fromkeys(near))
        texts[village(number)] = (
            f"'''{village(number)}''' has {100 + number} people. From there roads lead to {links}.\n"
            f"== History ==\nIt was founded in {1000 + number}.\n== Harbour ==\n{number % 7} boats.\n"
            f"[[Category:Parish {number % 9}]] [[Category:Villages]]"
        )
    return texts


def texts() -> dict[str, str]:
    """The wikitext of every page by its title."""
    redirects = {title: f"#REDIRECT [[{target}]]" for title, target in REDIRECTS.items()}
    named = [title for title in (*EDGES, *redirects) if ":" not in title]
    strange = [DECOMPOSED, "round_A", "lower case", "A page that nobody wrote", "Peter%27s %22Rest%22"]
    atlas = "All that there is.\n" + "\n".join(f"* [[{title}]]" for title in (*named, *strange, village(0)))
    return {ATLAS: atlas, **EDGES, **redirects, **villages()}


def export() -> str:
    """All pages as MediaWiki's import reads them."""
    numbers = {"Template": 10, "Category": 14, "Talk": 1}
    pages = []
    for number, (title, text) in enumerate(texts().items(), start=1):
        namespace = numbers.get(title.partition(":")[0], 0) if ":" in title else 0
        pages.append(
            f"<page><title>{escape(title)}</title><ns>{namespace}</ns><id>{number}</id><revision><id>{number}</id>"
            "<timestamp>2024-02-03T04:05:06Z</timestamp><contributor><username>Importer</username></contributor>"
            f'<model>wikitext</model><format>text/x-wiki</format><text xml:space="preserve">{escape(text)}</text>'
            "</revision></page>"
        )
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">'
    return "\n".join([head, *pages, "</mediawiki>"])
