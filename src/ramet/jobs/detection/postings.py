"""Values with labels on the page of an opening: ``Location: Oslo``, ``Posted on`` beside ``08 May 2026``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ramet.jobs.boards.dates import AHEAD_MAX, parse_posted
from ramet.jobs.detection.addresses import address_of
from ramet.jobs.detection.patterns import domain_of, vendor_names
from ramet.jobs.detection.schema_org import LINE_MAX, TEXT_MAX, jsonld_objects, microdata_objects, plain, posting_of
from ramet.jobs.detection.titles import title_of
from ramet.jobs.posting import Posting
from ramet.jobs.text.markup import bounded, text_of

LABEL_MAX = 40
"""Characters of a label."""
VALUE_MAX = 200
LEAVES_MAX = 20_000
"""Elements of a page that are looked at."""
LABELS_MAX = 60
"""Labels of a page of which the values are looked for; a page of an opening has a few of each."""

_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "location": "location|locations|job location|job locations|work location|office location|office|location name|"
        "standort|einsatzort|arbeitsort|ubicación|lugar de trabajo|lieu|localisation|lieu de travail|luogo|sede|"
        "sede di lavoro|locatie|standplaats|plats|ort|arbetsort|arbejdssted|sted|lokalizacja|localização|local",
        "city": "city|town|stadt|ciudad|ville|città|stad|cidade|miasto",
        "region": "state|region|province|county|bundesland|provincia|estado|województwo",
        "country": "country|land|país|pays|paese|kraj",
        "posted_at": "posted|posted on|date posted|posting date|job posted|published|published on|publication date|"
        "release date|opening date|open date|veröffentlicht|veröffentlicht am|erschienen am|online seit|publicado|"
        "fecha de publicación|publié le|date de publication|data di pubblicazione|geplaatst op|publicerad|"
        "publiceringsdatum|opublikowano|data de publicação",
        "valid_through": "end date|closing date|closes on|apply by|apply before|deadline|application deadline|"
        "valid through|expires|expires on|bewerbungsfrist|fecha de cierre|date limite|scadenza|sista ansökningsdag",
        "employment_type": "employment type|job type|contract type|type of contract|type of employment|position type|"
        "time type|schedule|beschäftigungsart|anstellungsart|vertragsart|tipo de contrato|tipo de jornada|"
        "type de contrat|contratto|tipo di contratto|dienstverband|anställningsform|anställningstyp|typ umowy",
        "workplace": "workplace|workplace type|work arrangement|work model|work mode|work type|working model|remote|"
        "remote type|location type|arbeitsmodell|modalidad|modalidad de trabajo|modalité|télétravail|"
        "modalità di lavoro|typ av arbetsplats|tryb pracy",
        "salary": "salary|salary range|pay|pay range|compensation|compensation range|base salary|gehalt|vergütung|"
        "salario|retribución|salaire|rémunération|stipendio|ral|salaris|lön|wynagrodzenie",
        "external_id": "job id|job code|job number|job req id|job requisition id|requisition id|requisition number|"
        "req id|reference|reference number|ref|vacancy id|stellen-id|kennziffer|referenz|referencia|référence|"
        "referenznummer",
        "company": "company|company name|employer|hiring organization|unternehmen|arbeitgeber|empresa|entreprise|"
        "société|azienda|bedrijf|företag|firma",
    }
)
_FIELDS: Mapping[str, str] = MappingProxyType(
    {word: field for field, words in _WORDS.items() for word in words.split("|")}
)
_POSTED = re.compile(r"(?:re)?posted\s(?:on\s|.{0,20}\bago\b|today|yesterday).{0,30}$", re.IGNORECASE)
"""Text that gives the day of posting without a label."""
_WORKPLACES = (
    ("hybrid", re.compile(r"h[yií]br|teilweise|partiel|partially", re.IGNORECASE)),
    ("remote", re.compile(r"remot|teletra|télétra|distan|home.?office|virtual|anywhere|zdaln", re.IGNORECASE)),
    (
        "onsite",
        re.compile(r"on.?site|presencial|présentiel|vor ort|in.?office|in.?person|på plats|op locatie", re.IGNORECASE),
    ),
)


def workplace_of(text: str | None) -> str | None:
    """Return ``remote``, ``hybrid`` or ``onsite``, where a short text of a field says so."""
    if not text:
        return None
    return next((workplace for workplace, words in _WORKPLACES if words.search(text)), None)


def labelled(tree: LexborHTMLParser) -> dict[str, str]:
    """Return the labelled values of a page by field, each as it is written; the first one of a field counts.

    Fields are ``location``, ``posted_at``, ``valid_through``, ``employment_type``, ``workplace``, ``salary``,
    ``external_id`` and ``company``.
    """
    found: dict[str, str] = {}
    labels = 0
    for leaf, text in _leaves(tree):
        if "posted_at" not in found and _POSTED.match(text):
            found["posted_at"] = text
        label, colon, rest = text.partition(":")
        field = _FIELDS.get(label.strip().lower())
        if field is None or len(label) > LABEL_MAX or field in found:
            continue
        labels += 1
        if labels > LABELS_MAX:
            break
        value = rest.strip() if colon and rest.strip() else _beside(leaf, text)
        if value and len(value) <= VALUE_MAX and value.rstrip(":").lower() not in _FIELDS:
            found[field] = value
    return _with_place(found)


def _with_place(found: dict[str, str]) -> dict[str, str]:
    parts = [found.pop(name, "") for name in ("city", "region", "country")]
    if parts[0] and (parts[2] or "location" not in found):
        return {**found, "location": ", ".join(part for part in dict.fromkeys(parts) if part)}
    if parts[2] and "location" not in found:
        return {**found, "location": parts[2]}
    return found


def _leaves(tree: LexborHTMLParser) -> Iterator[tuple[LexborNode, str]]:
    """Yield elements with nothing but a short text in them, and that text."""
    for node in tree.css("dt,th,td,strong,b,span,label,div,p,li,h2,h3,h4,h5,h6")[:LEAVES_MAX]:
        inside = node.first_child
        if inside is None or inside.next is not None or inside.tag != "-text":
            continue
        text = inside.text_content or ""
        if 2 < len(text) < VALUE_MAX + LABEL_MAX:
            yield node, " ".join(text.split())


def _beside(leaf: LexborNode, label: str) -> str:
    """Return the text after a label: beside it in its parent, else in the element after it or after its parent."""
    following = _next_element(leaf)
    text = _label_text(following)
    if text:
        return text
    parent = leaf.parent
    if parent is None or parent.tag in ("body", "html"):
        return ""
    whole = _label_text(parent)
    if whole == label:
        return _label_text(_next_element(parent))
    return whole[len(label) :].lstrip(": ").strip() if whole.startswith(label) else ""


def _next_element(node: LexborNode) -> LexborNode | None:
    following = node.next
    while following is not None and (following.tag or "-").startswith(("-", "_", "!")):
        if following.tag == "-text" and (following.text_content or "").strip(" :\n\t\r\xa0"):
            return None
        following = following.next
    return following


def _label_text(node: LexborNode | None) -> str:
    """Return the text of an element with a few words; empty for a longer one."""
    if node is None or (node.html is not None and len(node.html) > 4_000):
        return ""
    text = " ".join(node.text(deep=True, separator=" ").split())
    return text if len(text) <= VALUE_MAX + LABEL_MAX else ""


DESCRIPTION_MIN = 200
"""Characters from which on a part of a page is taken for the text of an opening."""
POSTINGS_MAX = 5_000
"""Openings of one page."""
REGIONS_MAX = 200

_AROUND = "nav,footer,aside,script,style,template,noscript,iframe,svg,[role=navigation]"
_BESIDE = "header,form,button,dialog"
_DESCRIBED = (
    "[class*='job-description' i],[class*='jobdescription' i],[class*='job_description' i],[id*='job-description' i],"
    "[id*='jobdescription' i],[id*='job_description' i],[data-automation-id='jobPostingDescription'],"
    "[class*='job-detail' i],[class*='jobdetail' i],[class*='posting-description' i],[class*='job__description' i],"
    "[class*='vacancy-description' i],[class*='position-description' i],[class*='job-content' i]"
)
_MAIN = "main,[role=main],article"
_PLACE = "[class*='job-location' i],[class*='job__location' i],[class*='posting-location' i],[class='location' i]"
_ADJACENT = re.compile(r"</span>(?:\s{0,20}<!--[^>]{0,200}-->){0,20}\s{0,20}<")
"""Boundary between a label and its value that only a style keeps apart."""
_TEMPLATE = re.compile(r"\{\{|\{\$|<%|\$\{")


def jsonld_postings(html: str, url: str, now: float) -> list[Posting]:
    """Return the openings that a page has as JSON-LD, in its order; none without a title.

    Args:
        html: the page.
        url: its address.
        now: Unix seconds.
    """
    return _postings(jsonld_objects(_tree(html), "JobPosting"), url, now)


def posting_of_page(html: str, url: str, now: float) -> Posting:
    """Return the opening that a page is about: from its JSON-LD, else microdata, else marks, labels and headings.

    Fields that are not found stay empty. Fields that the first of these sources leaves open are taken from the next.

    Args:
        html: the page.
        url: its address.
        now: Unix seconds.
    """
    tree = _tree(html)
    found = _structured_posting(tree, url, now)
    names = [found.company if found and found.company else "", _site_name(tree), _host_name(url), *vendor_names()]
    title = title_of(tree, names)
    if found is None:
        found = Posting(url=url)
    missing: dict[str, Any] = {}
    _without(tree, _AROUND)
    marked = labelled(tree)
    _fill(missing, found, "title", title)
    _fill(missing, found, "external_id", marked.get("external_id"))
    _fill(missing, found, "company", marked.get("company") or _company(tree))
    _fill(missing, found, "location", _unbracketed(marked.get("location") or _place(tree)))
    _fill(missing, found, "employment_type", (marked.get("employment_type") or "").lower() or None)
    _fill(missing, found, "salary", marked.get("salary"))
    _fill(missing, found, "workplace", workplace_of(marked.get("workplace")) or _workplace_mark(tree))
    if found.posted_at is None:
        missing["posted_at"] = _posted(tree, marked.get("posted_at"), now)
    ends_at = parse_posted(marked.get("valid_through"), now, AHEAD_MAX)
    if ends_at is not None and "valid_through" not in found.extra:
        missing["extra"] = {**found.extra, "valid_through": ends_at}
    if not found.description:
        missing["description"] = _description(tree)
    return found.model_copy(update=missing)


def _tree(html: str) -> LexborHTMLParser:
    return LexborHTMLParser(bounded(html))


def _postings(objects: list[dict[str, Any]], url: str, now: float) -> list[Posting]:
    postings = [posting_of(item, url, now) for item in objects[:POSTINGS_MAX]]
    return [posting for posting in postings if posting.title]


def _structured_posting(tree: LexborHTMLParser, url: str, now: float) -> Posting | None:
    """Return the opening that the page is about, from the page's structured data."""
    for objects in (jsonld_objects(tree, "JobPosting"), microdata_objects(tree, "JobPosting")):
        postings = _postings(objects, url, now)
        if len(postings) == 1:
            return postings[0].model_copy(update={"url": url})
        if postings:
            # Others are advertised beside it: the page's own one has its address or its heading.
            here = [posting for posting in postings if _place_of(posting.url) == _place_of(url)]
            if len(here) == 1:
                return here[0]
            heading = title_of(tree).casefold()
            for posting in here or postings:
                if heading and posting.title.casefold() == heading:
                    return posting.model_copy(update={"url": url})
    return None


def _place_of(url: str) -> tuple[str, str]:
    address = address_of(url)
    return (address.path.rstrip("/").casefold(), address.query) if address is not None else (url, "")


def _fill(missing: dict[str, Any], found: Posting, name: str, value: str | None) -> None:
    if value and not getattr(found, name) and not _TEMPLATE.search(value):
        missing[name] = value[:LINE_MAX]


def _meta(tree: LexborHTMLParser, *names: str) -> str:
    for name in names:
        node = tree.css_first(f"meta[property='{name}'],meta[name='{name}'],meta[itemprop='{name}']")
        content = " ".join(plain(node.attributes.get("content") or "").split()) if node is not None else ""
        if content:
            return content
    return ""


def _site_name(tree: LexborHTMLParser) -> str:
    return _meta(tree, "og:site_name", "application-name")[:LINE_MAX]


def _host_name(url: str) -> str:
    address = address_of(url)
    return domain_of(address.host).split(".")[0] if address else ""


def _company(tree: LexborHTMLParser) -> str | None:
    """Return the site's name, unless it is that of a vendor or of a page."""
    name = re.sub(r"\s{1,5}(?:careers?|jobs|karriere)$", "", _site_name(tree), flags=re.IGNORECASE).strip()
    folded = re.sub(r"[^a-z]", "", name.casefold())
    return None if folded in vendor_names() or folded in ("careers", "jobs", "career", "job") else name or None


def _place(tree: LexborHTMLParser) -> str | None:
    node = tree.css_first(_PLACE)
    text = " ".join(node.text(deep=True, separator=" ").split()) if node is not None else ""
    return text.strip(" /,;|\u00b7") or None if len(text) <= 200 else None


def _unbracketed(place: str | None) -> str | None:
    return place[1:-1].strip() if place and place.startswith("(") and place.endswith(")") else place


def _workplace_mark(tree: LexborHTMLParser) -> str | None:
    node = tree.css_first("[workplacetype]")
    return workplace_of(node.attributes.get("workplacetype")) if node is not None else None


def _posted(tree: LexborHTMLParser, labelled_as: str | None, now: float) -> float | None:
    node = tree.css_first("time[datetime][class*='post' i],time[datetime][itemprop='datePosted'],time[pubdate]")
    marks = [labelled_as, _meta(tree, "datePosted", "article:published_time", "og:article:published_time")]
    if node is not None:
        marks.append(node.attributes.get("datetime"))
    return next((posted for mark in marks if mark and (posted := parse_posted(mark, now)) is not None), None)


def _description(tree: LexborHTMLParser) -> str:
    """Return the text that describes the opening, else that of the main part, else of all but what is beside it."""
    for selector in (_DESCRIBED, _MAIN):
        texts = [_text(node) for node in _outermost(tree, selector)[:REGIONS_MAX]]
        longest = max(texts, key=len, default="")
        if len(longest) >= DESCRIPTION_MIN and not _TEMPLATE.search(longest):
            return longest[:TEXT_MAX]
    _without(tree, _BESIDE)
    body = text_of(_ADJACENT.sub("</span> <", tree.body.html or "")) if tree.body is not None else ""
    if len(body) >= DESCRIPTION_MIN and not _TEMPLATE.search(body):
        return body[:TEXT_MAX]
    return _meta(tree, "description", "og:description", "twitter:description")[:TEXT_MAX]


def _without(tree: LexborHTMLParser, selector: str) -> None:
    """Remove matching elements from the tree. Elements within them are gone as well and must not be used again."""
    for node in _outermost(tree, selector):
        node.decompose()


def _outermost(tree: LexborHTMLParser, selector: str) -> list[LexborNode]:
    """Return the elements that match and lie in no other one that matches."""
    fitting = tree.css(selector)
    all_of_them = {node.mem_id for node in fitting}
    return [node for node in fitting if not _is_within(node, all_of_them)]


def _is_within(node: LexborNode, others: set[int]) -> bool:
    around = node.parent
    while around is not None and around.mem_id not in others:
        around = around.parent
    return around is not None


def _text(node: LexborNode) -> str:
    return text_of(node.html or "")
