"""What runs, what waits, what is wrong: the first page."""

from __future__ import annotations

from typing import Any

from ramet.web.answers import overview as answers
from ramet.web.charts import bars, stacked
from ramet.web.page import Look, Page


async def overview(look: Look) -> dict[str, Any]:
    """Everything at a glance."""
    one = await answers.overview(look.client)
    deepest = max((depth for depth, count in enumerate(one.depths) if count), default=0)
    return {
        "one": one,
        "waits": answers.WAITS,
        "ends": stacked([(minute.at, minute.good, minute.bad) for minute in one.minutes]),
        "depths": bars([(_depth(at), count) for at, count in enumerate(one.depths[: deepest + 1])]),
    }


def _depth(at: int) -> str:
    return str(at) if at <= 10 else "deeper"


PAGES = (Page("/", "overview", "overview.html", overview),)
