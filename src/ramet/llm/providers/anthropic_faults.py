"""What Anthropic's refusals mean, where that is not what the table of `openai_faults` says of any server.

=======================================================  ================================================
what came                                                what it is
=======================================================  ================================================
429 with the detail that a limit of spending is reached  NotAllowed: waiting minutes does not help
400 that speaks of the organisation, its keys, its        NotAllowed: every other request is refused too
  workspace or its credit
=======================================================  ================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ramet.llm.errors import NotAllowed, ProviderError
from ramet.llm.providers.anthropic_answers import inner_error
from ramet.llm.providers.openai_errors import fault_of, told

_PERSON = frozenset(
    "contract_spend_limit_reached enforced_spend_limit_reached organization_on_hold organization_type_not_supported "
    "workspace_policy_violation cmek_key_disabled cmek_key_network_blocked claude_code_key_creator_not_member "
    "key_profile_mismatch user_profile_required user_profile_not_found".split()
)
"""Codes in ``error.details`` that only a person can do something about."""
_NO_CREDIT = "credit balance is too low"
"""Has no code of its own: an invalid request by its type."""


def anthropic_fault(
    status: int, headers: Mapping[str, str], body: Any, *, host: str, key: str | None, submit: bool, batch: bool
) -> ProviderError:
    """What an answer other than 2xx means; the arguments are those of `fault_of`, ``body`` the whole answer."""
    error = inner_error(body)
    words = told(error, key)
    details = error.get("details") if isinstance(error, Mapping) else None
    code = details.get("error_code") if isinstance(details, Mapping) else None
    if code in _PERSON or (status == 400 and _NO_CREDIT in words):
        return NotAllowed(f"{host} lets this account ask nothing just now ({status}): {words}")
    return fault_of(status, headers, error, host=host, key=key, submit=submit, batch=batch)
