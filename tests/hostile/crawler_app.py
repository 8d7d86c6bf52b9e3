"""The crawler for workers with child processes: `tests.hostile.crawler_app:app`, with `MAPPING` in the environment."""

from __future__ import annotations

import os

from ramet import App
from tests.hostile.crawler import MAPPING, OverHttp, add_crawler

app = App()
add_crawler(app, OverHttp(os.environ.get(MAPPING, "")))
