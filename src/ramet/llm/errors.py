"""The pipeline's errors, each with one line that says what to do.

An error that a user can correct is a `UserError`: an :class:`LlmError`, or one of ``ramet.commands``. An error that a
provider answers derives from :class:`ProviderError`; the tasks decide by its type what becomes of an item.
"""

from __future__ import annotations

from ramet.commands.errors import UserError

LLM_EXTRA = "'ramet[llm]'"
"""The extra that installs what the pipeline needs by default, quoted for a shell."""
LLM_MODULES = ("genai_prices", "jsonschema_rs", "openai")
"""Modules of the extra: without one of them, tasks could only fail."""


class LlmError(UserError):
    """An error of this pipeline that a user can put right."""


class InputError(LlmError):
    """An input file cannot be taken as it is; the message names the line."""


class UnknownModel(LlmError):
    """No price is known for this model, so no ceiling could be kept."""


class JobNotFound(LlmError):
    """The database holds no such job."""


class ProviderError(Exception):
    """A call to a provider brought no answer. One line, without keys or prompts."""


class NotSent(ProviderError):
    """The provider certainly took nothing on: it refused for now, or was never reached. Asking again can help."""


class ServerFault(NotSent):
    """The provider was reached and failed (500): perhaps at this very request, whatever others meet."""


class TooBusy(NotSent):
    """The provider refused for now and may have named the time to come back (429, 503)."""

    def __init__(self, message: str, seconds: float | None = None) -> None:
        super().__init__(message)
        self.seconds = seconds
        """Time that it named, of any size; None where it named none."""


class Refused(ProviderError):
    """The provider refused this request for good: it is at fault, and the same again is refused again."""

    def __init__(self, message: str, code: str = "refused") -> None:
        super().__init__(message)
        self.code = code
        """Short and stable, for statistics: `invalid_request`, `too_large`, `content_filter`, ..."""


class NotAllowed(ProviderError):
    """The provider refuses us whatever we send: a wrong key, no quota, no such model. A person has to act."""


class Ambiguous(ProviderError):
    """It is unknown whether the provider accepted the request: the answer was lost after it may have arrived."""
