"""How the pages of a run are read: its wiki's rules for titles and what the run wants of a page, as stored JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import NamedTuple

from ramet.wiki.runs import RunSettings
from ramet.wiki.wikitext.parser import ParseOptions
from ramet.wiki.wikitext.site import Site

SETS = ("interwiki", "disambiguation_templates", "hidden_categories")


class Rules(NamedTuple):
    """What a parser needs to know beside the page."""

    site: Site
    options: ParseOptions


def options_of(settings: RunSettings) -> ParseOptions:
    """What a run wants of a page."""
    return ParseOptions(links=settings.links, disambiguation=settings.disambiguation, links_max=settings.max_links)


def rules_json(rules: Rules) -> str:
    """Rules as text; equal rules are equal texts."""
    site = asdict(rules.site)
    for name in SETS:
        site[name] = sorted(site[name])
    return json.dumps({"site": site, "options": asdict(rules.options)}, ensure_ascii=False, sort_keys=True)


def rules_of(content: str) -> Rules:
    """The rules that `rules_json` wrote."""
    told = json.loads(content)
    site = told["site"]
    for name in SETS:
        site[name] = frozenset(site[name])
    site["redirect_words"] = tuple(site["redirect_words"])
    return Rules(Site(**site), ParseOptions(**told["options"]))
