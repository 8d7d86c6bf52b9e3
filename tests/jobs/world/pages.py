"""Pages for people: a company's own, a board's list, a posting's."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping
from typing import Any

from tests.jobs.world.openings import Opening


def page(title: str, body: str, *, head: str = "") -> str:
    """A whole document."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>{head}</head>'
        f"<body>{body}</body></html>"
    )


def jsonld(value: Any) -> str:
    """A script with JSON-LD."""
    text = json.dumps({"@context": "https://schema.org/", **value}).replace("</", "<\\/")
    return f'<script type="application/ld+json">{text}</script>'


def posting_page(opening: Opening, url: str, company: str, *, plain: bool = False) -> str:
    """A posting's own page; ``plain`` has no JSON-LD."""
    body = (
        f"<main><h1>{html.escape(opening.title)}</h1><p class=location>{html.escape(opening.location)}</p>"
        f"<div class=description>{opening.html}</div></main>"
    )
    head = "" if plain else jsonld(job_posting(opening, url, company))
    return page(f"{opening.title} - {company}", body, head=head)


def job_posting(opening: Opening, url: str, company: str) -> dict[str, Any]:
    """A schema.org JobPosting."""
    value: dict[str, Any] = {
        "@type": "JobPosting",
        "title": opening.title,
        "url": url,
        "identifier": {"@type": "PropertyValue", "name": company, "value": opening.id},
        "datePosted": opening.posted,
        "description": opening.html,
        "employmentType": "FULL_TIME",
        "hiringOrganization": {"@type": "Organization", "name": company},
        "jobLocation": {
            "@type": "Place",
            "address": {
                "@type": "PostalAddress", "addressLocality": opening.city, "addressRegion": opening.region
            },
        },
    }  # fmt: skip
    if opening.workplace == "remote":
        value["jobLocationType"] = "TELECOMMUTE"
    if opening.salary is not None:
        low, high, currency = opening.salary
        quantity = {"@type": "QuantitativeValue", "minValue": low, "maxValue": high, "unitText": "YEAR"}
        value["baseSalary"] = {"@type": "MonetaryAmount", "currency": currency, "value": quantity}
    return value


def list_page(title: str, links: Iterable[tuple[str, Opening]]) -> str:
    """A list of openings, as a server that renders its pages has it."""
    rows = "".join(
        f'<li class="opening"><a class="title" href="{html.escape(url)}">{html.escape(opening.title)}</a>'
        f'<span class="location">{html.escape(opening.location)}</span></li>'
        for url, opening in links
    )
    return page(title, f"<h1>{html.escape(title)}</h1><ul class=openings>{rows}</ul>")


ABOUT = (
    "{name} builds the software that ferries, harbours and lighthouses run on. Since 2009 our engineers in Portland, "
    "Oregon and all over the country have kept timetables true for forty million passengers a year. We write Python "
    "and Go, and run PostgreSQL and Kubernetes on AWS."
)
CULTURE = (
    "We work in small teams that own what they build, write things down, and go home on time. Most of us are remote; "
    "twice a year everybody meets by the sea."
)


def company_pages(
    name: str, site: str, *, about: str = ABOUT, culture: str = CULTURE, careers: str = "", links: Iterable[str] = ()
) -> Mapping[str, str]:
    """The pages of a company by path: home, about and careers.

    Args:
        site: its address, with the last slash.
        careers: markup of the careers page: an embedded board, a link to one.
        links: addresses that the home page links to.
    """
    organization = {"@type": "Organization", "name": name, "url": site, "foundingDate": "2009"}
    more = "".join(f'<a href="{html.escape(link)}">{html.escape(link)}</a>' for link in links)
    home = f'<h1>{html.escape(name)}</h1><nav><a href="/about">About</a><a href="/careers">Careers</a>{more}</nav>'
    texts = f"<h2>About us</h2><p>{about.format(name=name)}</p><h2>Our culture</h2><p>{culture.format(name=name)}</p>"
    return {
        "/": page(name, home, head=jsonld(organization)),
        "/about": page(f"About {name}", texts),
        "/careers": page(f"Careers at {name}", f"<h1>Work at {html.escape(name)}</h1>{careers}"),
    }
