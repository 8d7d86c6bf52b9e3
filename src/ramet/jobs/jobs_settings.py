"""All numbers of the pipeline, each a row of the engine's settings table that can be changed at run time.

A setting's name is ``jobs.SECTION.FIELD``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ramet.jobs.ai_settings import ModelSettings
from ramet.jobs.boards_settings import RunSettings, SourceSettings
from ramet.jobs.companies_settings import CompanySettings
from ramet.jobs.profile import Profile
from ramet.jobs.scoring_settings import ListingSettings, MatchSettings
from ramet.jobs.settings import FilterSettings, StopLists
from ramet.jobs.web_settings import FetchSettings

PREFIX = "jobs."


class JobsSettings(BaseModel):
    """What holds now."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    profile: Profile = Field(default_factory=Profile)
    stop: StopLists = Field(default_factory=StopLists)
    filter: FilterSettings = Field(default_factory=FilterSettings)
    match: MatchSettings = Field(default_factory=MatchSettings)
    listing: ListingSettings = Field(default_factory=ListingSettings)
    company: CompanySettings = Field(default_factory=CompanySettings)
    source: SourceSettings = Field(default_factory=SourceSettings)
    run: RunSettings = Field(default_factory=RunSettings)
    fetch: FetchSettings = Field(default_factory=FetchSettings)
    model: ModelSettings = Field(default_factory=ModelSettings)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> JobsSettings:
        """The settings in force.

        Args:
            stored: values by full name; others than this pipeline's are left alone.

        Raises:
            pydantic.ValidationError: a value is none that its setting can have.
        """
        sections: dict[str, dict[str, Any]] = {}
        for name, value in stored.items():
            if name.startswith(PREFIX):
                section, _, field = name.removeprefix(PREFIX).partition(".")
                sections.setdefault(section, {})[field] = value
        return cls.model_validate(sections)
