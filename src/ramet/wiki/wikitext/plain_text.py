"""Plain text, and the marks in it for what was taken out; `clean` removes these characters from pages."""

from __future__ import annotations

import re
from html.entities import html5

KEPT_START, KEPT_END = "\x02", "\x03"
"""Marks around the number of a text that is kept as it is, such as a `<nowiki>`'s."""
GONE = "\x04"
"""Mark in the place of a template or the like; the blanks around it are tidied up later."""
CELL = "\x05"
"""Mark between two cells of a table's row."""
BAR = "\x06"
"""Mark for a `|` in a link's text, which parts no cells."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")


def clean(text: str) -> str:
    """Return the text without control characters but newlines, and with U+FFFD for what no encoding can express."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))


_REFERENCE = re.compile(r"&(?:#([0-9]{1,10})|#[xX]([0-9a-fA-F]{1,8})|([A-Za-z][A-Za-z0-9]{1,31}));")
_REPLACEMENT = "\ufffd"


def decode_entities(text: str) -> str:
    """Replace `&amp;`, `&#233;` and `&#xE9;` by their characters, once.

    A name that HTML does not know stays as it is. A number that is not a character of text (NUL and other control
    characters, surrogates, above U+10FFFF) becomes U+FFFD.
    """
    return _REFERENCE.sub(_decoded, text) if "&" in text else text


def _decoded(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name = reference.groups()
    if name:
        return html5.get(f"{name};", reference[0])
    number = int(decimal) if decimal else int(hexadecimal, 16)
    if number in (9, 10, 13):
        return chr(number)
    if number < 0x20 or 0x7F <= number <= 0x9F or 0xD800 <= number <= 0xDFFF or number > 0x10FFFF:
        return _REPLACEMENT
    return chr(number)


_QUOTES = re.compile(r"('{2,})")
_BOLD_LINE = re.compile(r"^.*'''.*$", re.MULTILINE)
SCHEMES = (
    "(?:(?:https?|ftps?|sftp|gopher|irc|ircs|nntp|telnet|git|svn|ssh|worldwind|mms|redis):)?//"
    "|(?:mailto|news|urn|geo|magnet|tel|sip|sips|sms|xmpp|bitcoin|matrix):"
)
"""Pattern of the beginning of an external link."""
_EXTERNAL_LINK = re.compile(rf"\[(?:{SCHEMES})[^\s\[\]<>\"]++[ \u00a0]*+([^\[\]\n]*+)\]", re.IGNORECASE)
_BREAKS = (
    "address blockquote br caption center dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre section table tr ul".split()
)
_CELLS = ["td", "th"]
_INLINE = (
    "abbr b bdi bdo big cite code data del dfn em font i ins kbd link mark meta q rb rp rt rtc ruby s samp small span"
    " strike strong sub sup time tt tbody tfoot thead u var wbr"
    " categorytree ce chem gallery graph hiero imagemap includeonly indicator inputbox mapframe maplink math noinclude"
    " nowiki onlyinclude poem ref references score source syntaxhighlight templatedata templatestyles timeline"
).split()
_TAG = re.compile(rf"</?({'|'.join([*_BREAKS, *_CELLS, *_INLINE])})(?![\w.:@-])[^<>]*+>", re.IGNORECASE)
_SWITCHES = frozenset(
    "toc notoc forcetoc noeditsection newsectionlink nonewsectionlink nogallery hiddencat expectunusedcategory index"
    " noindex staticredirect disambig notitleconvert notc nocontentconvert nocc noglobal archivedtalk notalk".split()
)
"""Switches of MediaWiki, in any case; a wiki's own are known by their capitals."""
_SWITCH = re.compile(r"__([^\W\d_]++(?>(?:_[^\W\d_]++)*))__")
_LINE_MARKS = re.compile(rf"^[ {GONE}]*+(?:[*#:;]++|-{{4,}}+)[ ]*+", re.MULTILINE)
# A run is looked at from its first character alone: from each of them would take a square of its length.
_EMPTY_BRACKETS = re.compile(rf"\((?=[\s,;:/\u2013{GONE}]*+\))[^()]*{GONE}[^()]*\)")
_OPENED = re.compile(rf"(?<=\()[ ,;:]*+{GONE}[ ,;:{GONE}]*+")
_CLOSED = re.compile(rf"(?<![ ,;:{GONE}])(?=[ ,;:]*+{GONE})[ ,;:{GONE}]++(?=\))")
_PAUSED = re.compile(rf"(?<![ {GONE}])(?= ++{GONE})[ {GONE}]++(?=[,.;:])")
_EMPTIED_LINE = re.compile(rf"^[ {GONE}]*{GONE}[ {GONE}]*\n?", re.MULTILINE)
_LEFT_OVER = re.compile(r"\[\[++|\]\]++|\{\{++|\}\}++|\{\||\|\}|<!--|'''*+")
_SPACES = re.compile(r"[^\S\n]+")
_AROUND_NEWLINE = re.compile(rf"(?<![ {CELL}])[ {CELL}]*+\n[ {CELL}]*+")
_AROUND_CELL = re.compile(rf"(?<! ) *+{CELL}[ {CELL}]*+")
_BLANK_LINES = re.compile(r"\n{3,}")


def plain(text: str) -> str:
    """Return wikitext without links, templates and tables (the passes before) as plain text, stripped.

    Cells of a row are parted by a tab, paragraphs by a blank line. Text that looks like markup and is not, as it
    has no partner, goes as well.
    """
    # Without bold there is nothing to tell apart.
    text = _BOLD_LINE.sub(_without_quotes, text).replace("''", "")
    text = _EXTERNAL_LINK.sub(r"\1", text)
    text = _TAG.sub(_in_place_of_tag, text)
    text = _SWITCH.sub(lambda switch: "" if switch[1].isupper() or switch[1].lower() in _SWITCHES else switch[0], text)
    text = _LINE_MARKS.sub("", text)
    if GONE in text:
        text = _without_gaps(text)
    return tidy(decode_entities(_LEFT_OVER.sub("", text)))


def tidy(text: str) -> str:
    """Return plain text with one space, tab or newline where there are several, and one blank line, stripped."""
    text = _SPACES.sub(" ", text)
    text = _AROUND_CELL.sub(CELL, _AROUND_NEWLINE.sub("\n", text))
    return _BLANK_LINES.sub("\n\n", text).strip(f"\n {CELL}").replace(CELL, "\t").replace(BAR, "|")


def _without_gaps(text: str) -> str:
    """Return `text` without the marks of what is gone, and without the brackets, spaces and pauses around them."""
    text = _CLOSED.sub("", _OPENED.sub("", _EMPTY_BRACKETS.sub(GONE, text)))
    return _EMPTIED_LINE.sub("", _PAUSED.sub("", text)).replace(GONE, "")


def _in_place_of_tag(tag: re.Match[str]) -> str:
    name = tag[1].lower()
    if name in _CELLS:
        return CELL
    return "\n" if name in _BREAKS else ""


def _without_quotes(line: re.Match[str]) -> str:
    """Return a line without the marks of bold and italics. Which apostrophes are letters is MediaWiki's rule."""
    pieces = _QUOTES.split(line[0])
    kept = [_apostrophes(len(run)) for run in pieces[1::2]]
    marks = [len(run) - count for run, count in zip(pieces[1::2], kept, strict=True)]
    bold = sum(mark in (3, 5) for mark in marks)
    italics = sum(mark in (2, 5) for mark in marks)
    if bold % 2 and italics % 2:
        _spare_apostrophe(pieces[0::2], marks, kept)
    shown = [pieces[0]]
    for count, piece in zip(kept, pieces[2::2], strict=True):
        shown.extend(("'" * count, piece))
    return "".join(shown)


def _apostrophes(run: int) -> int:
    """Return how many apostrophes of a run of two or more are letters: two mark italics, three bold, five both."""
    if run == 4:
        return 1
    return max(0, run - 5)


def _spare_apostrophe(texts: list[str], marks: list[int], kept: list[int]) -> None:
    """Take one mark of bold for an apostrophe and italics where both are left open: after a single letter if there
    is one, as in `l'''amour''`, else after a word, else after a space."""
    after_word = after_space = None
    for number, mark in enumerate(marks):
        if mark != 3:
            continue
        before = texts[number]
        if before.endswith(" ") or not before:
            after_space = number if after_space is None else after_space
        elif len(before) == 1 or before[-2] == " ":
            kept[number] += 1
            return
        else:
            after_word = number if after_word is None else after_word
    spared = after_word if after_word is not None else after_space
    if spared is not None:
        kept[spared] += 1
