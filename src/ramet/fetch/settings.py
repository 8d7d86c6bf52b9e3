"""Defaults of how servers are asked. A program may offer these as settings of its own; importing them loads no
client.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

SECONDS: JsonDict = {"unit": "seconds"}


class FetchSettings(BaseModel):
    """Bounds of one fetch, and the identity that servers see."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    answer_seconds: float = Field(
        30,
        gt=0,
        description="for one answer, from asking to its last byte, redirects included",
        json_schema_extra=SECONDS,
    )
    redirects_max: int = Field(
        5,
        ge=0,
        le=20,
        description="redirects that are followed from one address",
        json_schema_extra={"unit": "redirects"},
    )
    user_agent: str = Field(
        "ramet",
        pattern=r"^[!-~][ -~]{0,199}$",
        description="sent with every request, and looked for in robots.txt by its first word; say how to reach you",
    )
    languages: str = Field(
        "en, *;q=0.5", pattern=r"^[ -~]{1,200}$", description="in which pages are wanted, as Accept-Language says it"
    )
    turn_seconds_max: float = Field(
        45,
        ge=0,
        description="longest wait for a host's turn that is spent in the task; a longer one puts the task off",
        json_schema_extra=SECONDS,
    )
    busy_seconds: float = Field(
        60, gt=0, description="to stay away from a server that is busy and names no time", json_schema_extra=SECONDS
    )
    busy_seconds_max: float = Field(
        3_600, gt=0, description="to stay away from a server at most, whatever time it names", json_schema_extra=SECONDS
    )
    robots_bytes_max: int = Field(
        500_000, ge=1024, description="of a robots.txt that are read", json_schema_extra={"unit": "bytes"}
    )
    robots_seconds: float = Field(
        86_400, gt=0, description="for which a robots.txt is known without asking again", json_schema_extra=SECONDS
    )
    crawl_delay_seconds_max: float = Field(
        30, ge=0, description="between two requests at most, whatever robots.txt asks for", json_schema_extra=SECONDS
    )
