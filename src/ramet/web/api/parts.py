"""What routers ask with: the client, and parameters with their bounds."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Query, Request

from ramet import Client
from ramet.web.page import TEXT_MAX
from ramet.web.state import dashboard_of


def _client(request: Request) -> Client:
    return dashboard_of(request).client


Asked = Annotated[Client, Depends(_client)]
"""The database that is asked."""
Limit = Annotated[int, Query(ge=1, le=200, description="At most so many.")]
After = Annotated[int, Query(ge=0, le=2**62, description="`next_after` of the page before this one.")]
_NO_NUL = r"^[^\x00]+$"
"""PostgreSQL keeps none in a text."""
Text = Annotated[str, Query(min_length=1, max_length=TEXT_MAX, pattern=_NO_NUL)]
OptionalText = Annotated[str | None, Query(min_length=1, max_length=TEXT_MAX, pattern=_NO_NUL)]
Cursor = Annotated[str | None, Query(min_length=1, max_length=10_000, pattern=_NO_NUL)]
"""Where a page ended, as that page said."""
Id = Annotated[str, Path(min_length=1, max_length=TEXT_MAX, pattern=_NO_NUL)]
"""An id in the path: percent-encoded, slashes too."""
