"""What an OpenAI-like server's refusals and silences mean for a request's fate.

==============================================  ===================  ==========================
what came                                       submit               poll, cancel, results, find
==============================================  ===================  ==========================
no connection: name, refused, TLS, no free one  NotSent              NotSent
connection lost or time up after the request    Ambiguous            NotSent
  began to leave
2xx whose body is no JSON, is cut off, too      Ambiguous            NotSent
  large, or of another shape
3xx: never followed, a key might go elsewhere   NotAllowed           NotAllowed
400, 413, 415, 422 and other 4xx                Refused(code)        NotSent, of these 400 and 409 `Conflict`
401, 402, 403; no quota, hard billing limit     NotAllowed           NotAllowed
404; a model that is not there                  NotAllowed           `NotFound` (lost)
408, 409, 425                                   NotSent              NotSent
429, 503, 529; any NotSent with Retry-After     TooBusy(seconds)     TooBusy(seconds)
500                                             NotSent              NotSent
500 at the creation of a batch                  Ambiguous            -
501, 505                                        NotAllowed           NotAllowed
502, 504, other 5xx                             Ambiguous            NotSent
==============================================  ===================  ==========================

Why: a 408 says that the server did not get the whole request. A 429, 503 or 529 is a refusal before any work. A 500
is the server's own word that this request came to nothing, and failed requests are not billed; but for a batch, which
can cost as much as 50,000 requests and can be looked up, its word is not taken. A 502 or 504 is a gateway's word, and
the server behind it may be at work. What is said about a fault is repeated in one short line without the key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ramet.commands.errors import one_line
from ramet.llm.errors import Ambiguous, NotAllowed, NotSent, ProviderError, Refused, TooBusy
from ramet.llm.providers.openai_rates import retry_after_seconds

TOLD_CHARACTERS_MAX = 200
"""Of what a provider says about a fault that are repeated."""

NO_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"})
_NO_MODEL = frozenset({"model_not_found", "model_not_available", "unsupported_model"})
_BUSY = frozenset({429, 503, 529})
_LATER = frozenset({408, 409, 425})
_CODES = {413: "too_large", 422: "invalid_request", 400: "invalid_request"}


class NotFound(ProviderError):
    """The provider does not know the id that it was asked about."""


class Conflict(NotSent):
    """What was asked of a submission does not fit the state that it is in: it may have ended."""


class FileNotThere(NotSent):
    """A file that was just uploaded is not there yet."""


def told(body: object, key: str | None) -> str:
    """What a provider said about a fault, in one short line of printable characters, without the key."""
    message = (body.get("message") or body.get("detail")) if isinstance(body, Mapping) else body
    if isinstance(message, Mapping):
        message = message.get("message")
    words = one_line(message) if isinstance(message, str) and not message.lstrip().startswith("<") else ""
    if key:
        words = words.replace(key, "***")
    words = "".join(character for character in words if character.isprintable())[:TOLD_CHARACTERS_MAX]
    return words or "it does not say why"


def code_of(body: object) -> str | None:
    """The provider's short code of a fault, where there is one."""
    if not isinstance(body, Mapping):
        return None
    for name in ("code", "type"):
        code = body.get(name)
        if isinstance(code, str) and code.strip():
            return "".join(c for c in code.strip() if c.isprintable())[:60]
    return None


def fault_of(
    status: int, headers: Mapping[str, str], body: Any, *, host: str, key: str | None, submit: bool, batch: bool = False
) -> ProviderError:
    """What an answer other than 2xx means, by the table above.

    Args:
        status: HTTP's.
        headers: by lower-case name.
        body: the ``error`` object of the answer, else its JSON, else its text.
        host: whom the messages name.
        key: is not repeated.
        submit: whether the call hands a request over.
        batch: whether that request creates a batch.
    """
    code = code_of(body)
    words = told(body, key)
    if code in NO_MONEY or status == 402:
        return NotAllowed(f"{host} says that the account has no quota left ({status}): {words}")
    if status in (401, 403):
        # Some repeat a part of the key that was wrong, so their words are left out.
        return NotAllowed(f"{host} refuses the key, or what it may do ({status}): check the key and its rights")
    after = retry_after_seconds(headers)
    if status in _BUSY:
        return TooBusy(f"{host} is busy ({status}): {words}", after)
    if not submit and status in (400, 409):
        return Conflict(f"{host} answered {status}: {words}")
    if status in _LATER or (status == 500 and not (submit and batch)):
        if after is not None:
            return TooBusy(f"{host} answered {status}: {words}", after)
        return NotSent(f"{host} answered {status}: {words}")
    if 300 <= status < 400:
        return NotAllowed(f"{host} sends elsewhere ({status}), which is not followed: give the address that it ends at")
    if status in (501, 505):
        return NotAllowed(f"{host} cannot do that ({status}): {words}")
    if status >= 500:
        return (Ambiguous if submit else NotSent)(f"{host} answered {status}: {words}")
    if submit:
        return _refusal(status, code, body, words, host=host, batch=batch)
    if status == 404 and isinstance(body, Mapping):
        return NotFound(f"{host} does not know it: {words}")
    return NotSent(f"{host} answered {status}: {words}")


def _refusal(status: int, code: str | None, body: Any, words: str, *, host: str, batch: bool) -> ProviderError:
    """The 4xx that speak of what was handed over."""
    if batch and _speaks_of_file(body):
        return FileNotThere(f"{host} does not find the file that it just took ({status}): {words}")
    if code in _NO_MODEL or status == 404:
        return NotAllowed(f"{host} has no such model or address ({status}): {words}")
    return Refused(f"{host} refused the request ({status}): {words}", code or _CODES.get(status, "refused"))


def _speaks_of_file(body: object) -> bool:
    """A batch of a file that was just uploaded can be refused since the file is not to be seen everywhere yet."""
    if not isinstance(body, Mapping):
        return False
    words = str(body.get("message", "")).lower()
    missing = any(phrase in words for phrase in ("not found", "no such", "not exist", "not find", "not ready"))
    return missing and (body.get("param") == "input_file_id" or "file" in words)
