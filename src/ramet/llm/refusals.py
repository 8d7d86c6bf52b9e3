"""Meaning of a provider's refusal, wherever the provider says it: one table (docs/decisions/0073).

The same fault appears in four places: as an HTTP status, in the errors of a batch that failed as a whole, in a line of
a batch's results, and as an errored result of Anthropic's. All four are read by :func:`meaning_of`, so that a fault
of the account pauses a job and a full queue is waited for, wherever it shows.

The codes are those of OpenAI, Anthropic, and the servers that speak their APIs (Azure, Gemini, vLLM, gateways). A code
that the table does not have is judged by its HTTP status. Without one the default is the caller's: see `meaning_of`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum

from ramet.commands.errors import one_line

WORDS_CHARACTERS_MAX = 200
"""Most characters of a provider's words about a fault that are repeated."""
CODE_CHARACTERS_MAX = 60
KEY_CHARACTERS_LEAST = 8
"""A shorter key is struck out only where it is a word of its own: it may be a part of any other word."""


class Meaning(StrEnum):
    """Meaning of a refusal: what to do about it."""

    ACCOUNT = "account"
    """The account is out of money, or not allowed to do this: the job pauses until a person has acted."""
    BUSY = "busy"
    """A rate or a queue is full: wait, and send the same again. Nothing is wrong with it."""
    AGAIN = "again"
    """The provider failed at it: the same again may succeed."""
    REQUEST = "request"
    """The request itself is at fault: the same again is refused again."""
    BATCH = "batch"
    """The batch is at fault as a whole, by its form or by one of its lines: it is sent in halves."""


_ACCOUNT = (
    # OpenAI and those that speak its API
    "insufficient_quota billing_hard_limit_reached billing_soft_limit_reached billing_not_active insufficient_balance "
    "insufficient_credits insufficient_funds quota_exceeded account_deactivated account_suspended access_terminated "
    "organization_deactivated organization_restricted project_archived invalid_api_key incorrect_api_key "
    "missing_api_key no_api_key expired_api_key invalid_authentication invalid_organization invalid_project "
    "mismatched_organization mismatched_project ip_not_authorized unsupported_country_region_territory "
    "model_not_found model_not_available unsupported_model model_not_supported deployment_not_found deploymentnotfound "
    "permission_denied unauthorized forbidden access_denied "
    # Anthropic, by type and by the code in its details
    "authentication_error billing_error permission_error not_found_error "
    "contract_spend_limit_reached enforced_spend_limit_reached linked_organization_billing_unavailable "
    "linked_organization_spend_limit_reached organization_on_hold organization_type_not_supported "
    "parent_organization_required workspace_policy_violation cmek_key_disabled cmek_key_network_blocked "
    "claude_code_key_creator_not_member key_profile_mismatch user_profile_required user_profile_not_found "
    # Google
    "unauthenticated"
)
_QUEUE = frozenset(
    {"token_limit_exceeded", "enqueued_token_limit_exceeded", "batch_limit_exceeded", "batch_queue_full"}
)
"""Speak of the tokens or batches of the account that wait. Of a single request, a limit on tokens is its own."""
_BUSY = (
    "rate_limit_exceeded rate_limit_error rate_limited rate_limit requests tokens too_many_requests "
    "ramp_limit_exceeded overloaded overloaded_error engine_overloaded slow_down server_busy model_overloaded "
    "capacity_exceeded resource_exhausted unavailable service_unavailable cmek_context_unavailable cmek_key_unreachable"
)
_REQUEST = (
    "invalid_prompt content_filter content_policy_violation moderation_blocked context_length_exceeded "
    "string_above_max_length request_too_large invalid_image invalid_image_url image_parse_error unsupported_parameter "
    "unsupported_value invalid_value missing_required_parameter"
)
_AGAIN = (
    "server_error internal_error internal_server_error api_error timeout timeout_error vector_store_timeout "
    "conflict_error processing_error deadline_exceeded"
)
_BATCH = (
    "invalid_json_line invalid_request invalid_file_format empty_file empty_batch too_many_tasks file_too_large "
    "duplicate_custom_id missing_custom_id invalid_custom_id invalid_url invalid_method mismatched_model "
    "model_mismatch invalid_model mixed_models line_too_long duplicate_key too_large"
)

CODES: Mapping[str, Meaning] = {
    code: meaning
    for listed, meaning in (
        (_BATCH.split(), Meaning.BATCH),
        (_REQUEST.split(), Meaning.REQUEST),
        (_AGAIN.split(), Meaning.AGAIN),
        (_BUSY.split(), Meaning.BUSY),
        (_QUEUE, Meaning.BUSY),
        (_ACCOUNT.split(), Meaning.ACCOUNT),
    )
    for code in listed
}
"""The table: a provider's code, in small letters -> what it means."""

_STATUSES = {401: Meaning.ACCOUNT, 402: Meaning.ACCOUNT, 403: Meaning.ACCOUNT, 404: Meaning.ACCOUNT,
             408: Meaning.AGAIN, 409: Meaning.AGAIN, 425: Meaning.AGAIN,
             429: Meaning.BUSY, 503: Meaning.BUSY, 529: Meaning.BUSY}  # fmt: skip
_ORDER = (Meaning.BUSY, Meaning.REQUEST, Meaning.BATCH, Meaning.AGAIN)
"""Order in which several codes count: a fault of the account comes with a status and a type of any kind."""
_NO_CREDIT = "credit balance is too low"
"""Anthropic's; has no code of its own: an invalid request by its type."""


def meaning_of(error: object, status: int | None = None, *, batch: bool = False) -> Meaning | None:
    """Return the meaning of a provider's error.

    Args:
        error: the ``error`` object of an answer, a line, a result or a batch.
        status: HTTP's, where there is one.
        batch: whether it is about a batch as a whole.

    Returns:
        None where neither its codes nor its status say so: an item then fails, since asking again may cost money again;
        a batch is sent again a few times, and then in halves, since one that failed as a whole is not billed.
    """
    codes = [*codes_in(error)]
    found = {CODES[code] for code in codes if code in CODES}
    if Meaning.ACCOUNT in found or _NO_CREDIT in _message(error).lower():
        return Meaning.ACCOUNT
    by_status = None if status is None else _of_status(status)
    own_size = status in (400, 413, 422) and not batch and not _QUEUE.isdisjoint(codes)
    if own_size or status == 413 or (by_status is not None and found <= {Meaning.AGAIN, Meaning.BATCH}):
        # Too many tokens for a single request; or codes that are as wide as "error" and "invalid request".
        return Meaning.REQUEST if own_size else by_status
    for meaning in _ORDER:
        if meaning in found:
            return Meaning.REQUEST if meaning is Meaning.BATCH and not batch else meaning
    return Meaning.BATCH if batch and _names_a_line(error) else by_status


def _of_status(status: int) -> Meaning | None:
    if status in _STATUSES:
        return _STATUSES[status]
    if status >= 500:
        return Meaning.AGAIN
    return Meaning.REQUEST if 400 <= status < 500 else None


def _names_a_line(error: object) -> bool:
    return isinstance(error, Mapping) and type(error.get("line")) is int


def codes_in(error: object) -> Iterator[str]:
    """Yield the codes of an error, in small letters, the narrowest first."""
    if not isinstance(error, Mapping):
        return
    details = error.get("details")
    narrow = details.get("error_code") if isinstance(details, Mapping) else None
    for code in (narrow, error.get("code"), error.get("status"), error.get("type")):
        if isinstance(code, str) and code.strip():
            yield code.strip().lower()


def code_of(error: object) -> str | None:
    """Return the provider's short code of a fault, as it writes it, where there is one."""
    if not isinstance(error, Mapping):
        return None
    for name in ("code", "type"):
        code = error.get(name)
        if isinstance(code, str) and code.strip():
            return "".join(c for c in code.strip() if c.isprintable())[:CODE_CHARACTERS_MAX]
    return None


def fault_text(error: object, key: str | None) -> str:
    """Return the provider's words about a fault: one short printable line, without the key or a part of it."""
    message = _message(error)
    words = "" if message.lstrip().startswith("<") else without_key(one_line(message), key)
    words = "".join(character for character in words if character.isprintable())[:WORDS_CHARACTERS_MAX]
    return words or "it does not say why"


def _message(error: object) -> str:
    found = (error.get("message") or error.get("detail")) if isinstance(error, Mapping) else error
    if isinstance(found, Mapping):
        found = found.get("message")
    return found if isinstance(found, str) else ""


_MASKED = re.compile(r"[\w*.-]*\*{2,}[\w*.-]*")
"""A key that the provider itself masked: its ends are the key's."""


def without_key(words: str, key: str | None) -> str:
    """Words in which the key to the provider, and what the provider repeats of it, is struck out."""
    words = _MASKED.sub("***", words)
    if not key:
        return words
    if len(key) < KEY_CHARACTERS_LEAST:
        return re.sub(rf"(?<![\w-]){re.escape(key)}(?![\w-])", "***", words)
    return words.replace(key, "***")


QUEUE_SECONDS = 15.0
QUEUE_GROWTH = 1.3
QUEUE_SECONDS_MAX = 300.0


def queue_seconds(refusals: int) -> float:
    """Return the pause before a batch that found a queue full is sent again: 15 s, then 1.3 times as long, up to 5 min.

    Args:
        refusals: how many there were in a row.
    """
    return min(QUEUE_SECONDS_MAX, QUEUE_SECONDS * QUEUE_GROWTH ** min(refusals - 1, 100))
