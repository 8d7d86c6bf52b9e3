"""Options that several of the commands share, and what they say where nothing can be scored."""

from __future__ import annotations

from ramet.commands import options

DATABASE = "jobs.db"

database_option = options.database_option(DATABASE)

NO_PROFILE = (
    "there is no profile, so nothing can be scored: `ramet jobs init --sample` takes an example in, "
    "`ramet jobs init --from FILE` your own"
)
