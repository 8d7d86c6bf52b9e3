"""Writes docs/reference: pages for the API, one each for commands, settings, errors, metrics, states and REST routes.

It writes the types of the TypeScript client, too.

Run it with `make docs`. Everything is told where it is made, in docstrings, help texts and tables of the source.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from docs import (
    generate_api,
    generate_cli,
    generate_errors,
    generate_metrics,
    generate_rest,
    generate_settings,
    generate_states,
    generate_typescript,
)

PAGES: Mapping[Path, Callable[[], str]] = {
    **generate_api.PAGES,
    **{
        made.PAGE: made.page
        for made in (
            generate_cli, generate_settings, generate_errors, generate_metrics, generate_states, generate_rest,
            generate_typescript,
        )
    },
}  # fmt: skip


def main() -> int:
    """Write the pages, and the board that has the metrics."""
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
