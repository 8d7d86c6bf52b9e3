"""What a row may ask besides its prompt: every parameter with its check, and those that are refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ramet.llm.inputs.values import Wrong, flag, mapping, number, shown, text, unknown, whole

Checked = Callable[[object, str], Any]

LIMIT_NAMES = ("max_output_tokens", "max_tokens", "max_completion_tokens")
"""One and the same: the most that may be answered."""

_RENAMED = {"stop_sequences": "stop"}


def _number(least: float, most: float) -> Checked:
    return lambda value, name: number(value, name, least, most)


def _whole(least: int) -> Checked:
    return lambda value, name: whole(value, name, least)


def _stop(value: object, name: str) -> str | list[str]:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list) and value and all(isinstance(one, str) and one for one in value):
        return value
    raise Wrong(f"'{name}' must be a text or a list of texts, not {shown(value)}")


def _tools(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise Wrong(f"'{name}' must be a list, not {shown(value)}")
    for index, one in enumerate(value):
        kind = mapping(one, f"{name}[{index}]").get("type", "function")
        if kind not in ("function", "custom"):
            raise Wrong(f"'{name}[{index}]' is a tool of type {shown(kind)}, which is paid on top; only functions go")
    return value


def _text_or_mapping(value: object, name: str) -> Any:
    return text(value, name) if isinstance(value, str) else mapping(value, name)


PARAMETERS: dict[str, Checked] = {
    "cache_control": mapping,
    "frequency_penalty": _number(-2, 2),
    "logit_bias": mapping,
    "logprobs": flag,
    "min_p": _number(0, 1),
    "parallel_tool_calls": flag,
    "presence_penalty": _number(-2, 2),
    "prompt_cache_key": text,
    "reasoning": mapping,
    "reasoning_effort": text,
    "repetition_penalty": _number(0, 10),
    "safety_identifier": text,
    "seed": _whole(-(2**53)),
    "stop": _stop,
    "temperature": _number(0, 2),
    "thinking": mapping,
    "tool_choice": _text_or_mapping,
    "tools": _tools,
    "top_k": _whole(0),
    "top_logprobs": _whole(0),
    "top_p": _number(0, 1),
    "user": text,
    "verbosity": text,
}
"""Name -> check. What else a server of one's own knows goes into the row's object ``parameters``."""

_HARMLESS = {"stream": False, "background": False, "n": 1}
"""What says nothing when it has this value."""
_REFUSED = {
    "audio": "sound is priced otherwise",
    "background": "how the provider is asked is an option of the job",
    "context_management": "a row is asked by itself; nothing is left out of it",
    "conversation": "a row is asked by itself; give the conversation as messages",
    "metadata": "the pipeline marks its requests itself",
    "modalities": "sound is priced otherwise",
    "n": "a prompt is asked once and has one answer; give more rows with an id of their own and another seed",
    "prediction": "rejected predictions are paid on top",
    "previous_response_id": "a row is asked by itself; give the conversation as messages",
    "service_tier": "another tier has another price",
    "store": "whether answers are kept at the provider follows from how it is asked",
    "stream": "answers are collected, not streamed",
    "stream_options": "answers are collected, not streamed",
    "web_search_options": "a search is paid on top",
}


def add_parameter(parameters: dict[str, Any], name: str, value: object) -> bool:
    """Add what a row says, where it is a parameter; null takes a default back.

    Returns:
        Whether it is one.

    Raises:
        Wrong: its value cannot be, or it is refused.
    """
    name = _RENAMED.get(name, name)
    if name in _REFUSED:
        if value is not None and not (name in _HARMLESS and value == _HARMLESS[name]):
            raise Wrong(f"'{name}' cannot be set in a row: {_REFUSED[name]}")
        return True
    check = PARAMETERS.get(name)
    if check is None:
        return False
    if value is None:
        parameters.pop(name, None)
    else:
        parameters[name] = check(value, name)
    return True


def add_others(parameters: dict[str, Any], others: Mapping[str, Any], taken: frozenset[str]) -> None:
    """Add a row's object ``parameters``: those of above are checked, others are for the server to know.

    Args:
        parameters: what they are added to.
        others: the object.
        taken: names that belong outside of it.

    Raises:
        Wrong: a value cannot be, or the name is no parameter's.
    """
    for name, value in others.items():
        if name in taken:
            raise Wrong(f"'parameters.{name}' belongs beside 'parameters', not in it")
        if add_parameter(parameters, name, value):
            continue
        if value is None:
            parameters.pop(name, None)
        else:
            parameters[name] = value


def unknown_parameter(name: str, others: frozenset[str]) -> Wrong:
    """The complaint about a key that no row has."""
    wrong = unknown(name, others | PARAMETERS.keys())
    return Wrong(f"{wrong}; what only your server knows goes into 'parameters'")
