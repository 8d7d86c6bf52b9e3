"""The jobs pipeline (extra ``jobs``): companies, their boards, the listings on them, and which of these fit a person.

In it *job* means employment only; a unit of work is a task. The names in `__all__` are published, for programs with a
client of ``ramet.jobs.pipeline.app``; everything else is reached by the commands.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ramet.jobs.match_status import MatchMark, MatchStatus, ScoredMatch, match_history, matches
    from ramet.jobs.tasks.match_status import mark_matches

__all__ = ["MatchMark", "MatchStatus", "ScoredMatch", "mark_matches", "match_history", "matches"]


def __getattr__(name: str) -> object:
    """Return a published name, imported at its first use: the commands' settings are read by every program.

    Raises:
        AttributeError: there is no such name.
    """
    if name not in __all__:
        raise AttributeError(f"module 'ramet.jobs' has no attribute {name!r}")
    from ramet.jobs import match_status
    from ramet.jobs.tasks import match_status as marking

    return getattr(marking if name == "mark_matches" else match_status, name)
