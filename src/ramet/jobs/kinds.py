"""The kinds of the pipeline's tasks, their keys and payloads.

Payloads take the words of other systems too (``url``, ``company_name``), so that their rows can be imported.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_serializer,
    field_validator,
    model_validator,
)

from ramet.jobs.posting import Posting, packed, unpacked, without_login

COMPANY = "COMPANY"
SOURCE_DISCOVERY = "SOURCE_DISCOVERY"
SCRAPE_SOURCE = "SCRAPE_SOURCE"
SCRAPE = "SCRAPE"
LISTING = "LISTING"
RESCORE = "jobs.rescore"

QUEUE = "jobs"
RESCORING = "jobs.rescore"
"""A queue of its own: the command that judges again does the work itself, whether or not others work."""
RUN = "jobs-run-"
"""Beginning of the tracking ids of runs."""

SOURCE_RESOURCE = "jobs:source:"
"""Beginning of the resource of a source; its breaker is the source's health."""
HOST_RESOURCE = "jobs:host:"
"""Beginning of the resource of a host; its rate limits our requests to it, over all workers."""


THEIR_OBJECTS = ("input", "source_discovery_config")
"""Columns of other systems that are objects, or their JSON text."""
THEIR_WORDS = ("url", "company_name", "type_hint", "auto_enable", "validation_required", "source_discovery_config")
"""Fields of these objects that are read. Their ids are not: they name records that are not here."""


class _Payload(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", validate_by_name=True, validate_by_alias=True)

    @model_validator(mode="before")
    @classmethod
    def _of_another_system(cls, given: Any) -> Any:
        """Take what an imported row does not say itself from the objects that it has."""
        for column in THEIR_OBJECTS:
            inside = given.get(column) if isinstance(given, dict) else None
            if isinstance(inside, str) and inside[:1] == "{":
                inside = json.loads(inside)
            if isinstance(inside, dict):
                found = {word: inside[word] for word in THEIR_WORDS if word in inside}
                given = found | {name: value for name, value in given.items() if value not in (None, "")}
        return given


class CompanyPayload(_Payload):
    """A company to look at; at least a website or a name that a record has a website for."""

    company_id: str | None = None
    """Its key; None: follows from the website, or from the name."""
    name: str | None = Field(default=None, validation_alias=AliasChoices("name", "company_name", "company"))
    website: str | None = Field(default=None, validation_alias=AliasChoices("website", "url", "company_website"))
    again: str = ""
    """Look again although it was looked at a short time ago; a mark that no other such wish has, part of the key."""

    @field_validator("again", mode="before")
    @classmethod
    def _of_an_older_version(cls, again: Any) -> Any:
        return "again" * again if isinstance(again, bool) else again

    scrape: bool = True
    """Scrape its board at once when it is enabled; else the next run takes it on."""


class DiscoveryPayload(_Payload):
    """An address on which there may be a board, from a company's pages or from a person."""

    url: str
    type_hint: str | None = None
    """A vendor, where it is known."""
    company_id: str | None = None
    company_name: str | None = Field(default=None, validation_alias=AliasChoices("company_name", "company"))
    confidence: str | None = None
    """Confidence of the detection: ``high``, ``medium``, ``low``."""
    auto_enable: bool = True
    validation_required: bool = False
    """A person wants to approve it whatever its confidence."""
    approved: bool = False
    """A person has approved it: enable it when the live check passes."""
    chosen: bool = False
    """A person chose it from a list: enable it when the live check passes and its own name is the company's."""
    selectors: dict[str, Any] | None = None
    """Selectors of the openings in the page, where a person gave them."""
    source_id: str | None = None
    """The source that was approved: forgotten where its address turns out to be that of another one."""
    scrape: bool = True
    """Scrape it at once when it is enabled; else the next run takes it on."""


class SourcePayload(_Payload):
    """One scrape run of a source."""

    source_id: str
    trigger: str = ""
    """Origin of the request, for people."""


class ScrapePayload(_Payload):
    """A batch over sources, until there are enough matches."""

    target_matches: int | None = 5
    """None: do not stop early."""
    max_sources: int | None = 20
    """None: as many as there are."""
    source_ids: list[str] | None = None
    not_since: float | None = None
    """Sources that were scraped at this time or later are left out (Unix seconds)."""
    min_match_score: float | None = None
    """Instead of the setting, for what counts as a match here."""
    trigger: str = ""


class ListingPayload(_Payload):
    """One opening. ``posting`` is read of its board's list; an imported opening has only the address."""

    url: str
    source_id: str | None = None
    company_id: str | None = None
    posting: Posting | None = None
    reading: int = 1
    """Number of the reading, from 1: one that its board changed, or that could not be read, is read again."""
    shown: str | None = None
    """A mark of what its board's list showed."""
    has_text: bool = False
    """The text is in the table of texts, under this mark, and not in the posting."""

    @field_serializer("posting", mode="wrap")
    def _packed(self, posting: Posting | None, serialized: SerializerFunctionWrapHandler) -> Any:
        told = serialized(posting)
        if isinstance(told, dict) and isinstance(told.get("description"), str):
            told = {name: value for name, value in told.items() if value not in (None, [], {}, "")}
            told["description"] = packed(told.get("description", ""))
        return told

    @field_validator("posting", mode="before")
    @classmethod
    def _unpacked(cls, given: Any) -> Any:
        if isinstance(given, dict) and isinstance(given.get("description"), str):
            with suppress(ValueError):  # A text that only looks like a packed one is a text.
                return given | {"description": unpacked(given["description"])}
        return given

    @field_validator("url")
    @classmethod
    def _without_login(cls, url: str) -> str:
        return without_login(url)


class RescorePayload(_Payload):
    """Listings to judge again with the settings of now, without fetching."""

    company_id: str | None = None
    """Only those of this company; None: all."""
    cause: str
    """Cause in words, for the history."""
    asked_by: str
    """Id of what asked for it: two with the same one are one task."""
