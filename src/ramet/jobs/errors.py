"""The pipeline's errors, each with one line that says what to do.

What a user can put right derives from :class:`JobsError`; the commands print its line and exit with ``exit_code``.
What a page or a board answers derives from :class:`Permanent` or :class:`Transient` as well: the engine retries by it.
"""

from __future__ import annotations

from ramet import Permanent, Transient
from ramet.commands.errors import UserError

JOBS_EXTRA = "'ramet[jobs]'"
"""The extra that installs what the pipeline needs, as a shell is told."""


class JobsError(UserError):
    """What a user can put right of this pipeline."""


class InputError(JobsError):
    """What was typed, or a file that was named, cannot be taken as it is."""


class NotFound(JobsError):
    """The database has no such company, source or listing."""


class Fetched(Exception):
    """What came of asking a server, where that was nothing to read. The message is one line.

    Args:
        status: HTTP's, where the server said one.
        url: the address that answered, after redirects.
    """

    def __init__(self, message: str, *, status: int | None = None, url: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.url = url


class Refused(Permanent, Fetched):
    """Asking again gives the same: a status of 4xx, robots.txt, an address that is not fetched, an endless redirect."""


class Gone(Refused):
    """There is nothing at this address (404, 410)."""


class TooLarge(Refused):
    """The answer is larger than is read."""


class Trouble(Transient, Fetched):
    """No whole answer came, or one that speaks of an error of the server's own."""


class Busy(Fetched):
    """The server asks to come back later (429, or 503 with a time). No failure of anybody."""

    def __init__(self, message: str, seconds: float | None = None, *, status: int | None = None, url: str = "") -> None:
        super().__init__(message, status=status, url=url)
        self.seconds = seconds
        """What it named; None when it named none."""


class WrongShape(Permanent):
    """An answer that is not what the instruction says: no such path, another type, no title. It is never "no jobs"."""
