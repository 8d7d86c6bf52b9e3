"""The command line that continues a run, for people to copy."""

from __future__ import annotations

import shlex

from ramet.commands.options import database_words, short_path
from ramet.wiki.runs import MAX_ARTICLES, MAX_DEPTH, MAX_LINKS, Run, RunSettings
from ramet.wiki.sources.registry import BUNDLED


def command_of(run: Run, database: str) -> str:
    """The command line that continues a run."""
    settings = run.settings
    words = ["ramet", "wiki", "expand", *run.seeds, *database_words(database), "--graph", short_path(settings.graph)]
    if settings.source != BUNDLED:
        words += ["--source", settings.source if "://" in settings.source else short_path(settings.source)]
    default = RunSettings(source="", data_dir="", graph="")
    told = (
        ("--embed", settings.embedder, default.embedder),
        ("--links", settings.links, default.links),
        ("--disambiguation", settings.disambiguation, default.disambiguation),
        ("--contact", settings.user_agent, default.user_agent),
        ("--max-articles", settings.max_articles, MAX_ARTICLES),
        ("--max-depth", settings.max_depth, MAX_DEPTH),
        ("--max-links", settings.max_links, MAX_LINKS),
        ("--requests-per-second", settings.requests_per_second, None),
    )
    for option, value, usual in told:
        if value != usual:
            words += [option, str(value)]
    return shlex.join(words)
