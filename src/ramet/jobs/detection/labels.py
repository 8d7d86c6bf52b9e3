"""What a page of an opening says under labels: ``Location: Oslo``, ``Posted on`` beside ``08 May 2026``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from selectolax.lexbor import LexborHTMLParser, LexborNode

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
"""What says itself when it was posted, without a label."""
_WORKPLACES = (
    ("hybrid", re.compile(r"h[yií]br|teilweise|partiel|partially", re.IGNORECASE)),
    ("remote", re.compile(r"remot|teletra|télétra|distan|home.?office|virtual|anywhere|zdaln", re.IGNORECASE)),
    (
        "onsite",
        re.compile(r"on.?site|presencial|présentiel|vor ort|in.?office|in.?person|på plats|op locatie", re.IGNORECASE),
    ),
)


def workplace_of(text: str | None) -> str | None:
    """``remote``, ``hybrid`` or ``onsite``, where a short text of a field says so."""
    if not text:
        return None
    return next((workplace for workplace, words in _WORKPLACES if words.search(text)), None)


def labelled(tree: LexborHTMLParser) -> dict[str, str]:
    """What the page says by field: ``location``, ``posted_at``, ``valid_through``, ``employment_type``, ``workplace``,
    ``salary``, ``external_id``, ``company``; each as it is written. The first that a page says counts."""
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
    """Elements with nothing but text in them, which is short; and that text."""
    for node in tree.css("dt,th,td,strong,b,span,label,div,p,li,h2,h3,h4,h5,h6")[:LEAVES_MAX]:
        inside = node.first_child
        if inside is None or inside.next is not None or inside.tag != "-text":
            continue
        text = inside.text_content or ""
        if 2 < len(text) < VALUE_MAX + LABEL_MAX:
            yield node, " ".join(text.split())


def _beside(leaf: LexborNode, label: str) -> str:
    """What stands after a label: beside it in its parent, else in what follows it or its parent."""
    following = _next_element(leaf)
    text = _text(following)
    if text:
        return text
    parent = leaf.parent
    if parent is None or parent.tag in ("body", "html"):
        return ""
    whole = _text(parent)
    if whole == label:
        return _text(_next_element(parent))
    return whole[len(label) :].lstrip(": ").strip() if whole.startswith(label) else ""


def _next_element(node: LexborNode) -> LexborNode | None:
    following = node.next
    while following is not None and (following.tag or "-").startswith(("-", "_", "!")):
        if following.tag == "-text" and (following.text_content or "").strip(" :\n\t\r\xa0"):
            return None
        following = following.next
    return following


def _text(node: LexborNode | None) -> str:
    """What an element says in a few words; empty for what says more."""
    if node is None or (node.html is not None and len(node.html) > 4_000):
        return ""
    text = " ".join(node.text(deep=True, separator=" ").split())
    return text if len(text) <= VALUE_MAX + LABEL_MAX else ""
