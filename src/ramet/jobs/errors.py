"""The pipeline's errors, each with one line that says what to do.

Errors that a user can correct derive from :class:`JobsError`; the commands print its line and exit with ``exit_code``.
The errors of fetching are in :mod:`ramet.fetch.errors`.
"""

from __future__ import annotations

from ramet import Permanent
from ramet.commands.errors import UserError

JOBS_EXTRA = "'ramet[jobs]'"
"""The extra that installs what the pipeline needs, quoted for a shell."""


class JobsError(UserError):
    """Base of the errors that a user of this pipeline can correct."""


class InputError(JobsError):
    """An argument, or a file that was named, is invalid."""


class NotFound(JobsError):
    """The database does not have this company, source or listing."""


class WrongShape(Permanent):
    """An answer that differs from the instruction: a missing path, another type, no title. Never read as "no jobs"."""
