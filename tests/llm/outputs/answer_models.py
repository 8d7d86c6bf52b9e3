"""Models that answers have to fit, named by path."""

from __future__ import annotations

from datetime import date

from pydantic import BaseModel, ConfigDict, field_validator


class Person(BaseModel):
    """An answer with a default, a date and a rule."""

    model_config = ConfigDict(strict=True)

    name: str
    born: date
    tags: list[str] = []

    @field_validator("name")
    @classmethod
    def _capital(cls, name: str) -> str:
        if not name[0].isupper():
            raise ValueError("write it\nwith a capital")
        return name


class Outer:
    """Holds a model."""

    Inner = Person


nothing = 3
