"""Messages to a model, as rows tell them, in the one form that requests have."""

from __future__ import annotations

from typing import Any

from ramet.llm.inputs.values import Wrong, mapping, shown, text, unknown

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_TEXTS = frozenset({"text", "input_text", "output_text"})
_OTHERS = frozenset({"document", "file", "image", "image_url", "input_file", "input_image"})
_MESSAGE_KEYS = frozenset({"role", "content", "name"})


def read_messages(value: object, name: str = "messages") -> list[dict[str, Any]]:
    """A list of messages; ``developer`` is ``system``, parts of the Responses API are those of chat completions.

    Raises:
        Wrong: it is none.
    """
    if not isinstance(value, list) or not value:
        raise Wrong(f"'{name}' must be a list of at least one message, not {shown(value)}")
    read = [_message(one, f"{name}[{index}]") for index, one in enumerate(value)]
    if all(one["role"] == "system" for one in read):
        raise Wrong(f"'{name}' asks nothing; add a message of the role 'user'")
    return read


def _message(value: object, name: str) -> dict[str, Any]:
    given = dict(mapping(value, name))
    if given.get("type") == "message":
        del given["type"]
    for key in given:
        if key not in _MESSAGE_KEYS:
            raise Wrong(f"'{name}': {unknown(key, _MESSAGE_KEYS)}")
    role = given.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise Wrong(f"'{name}.role' must be 'system', 'user' or 'assistant', not {shown(role)}")
    message: dict[str, Any] = {"role": _ROLES[role], "content": read_content(given.get("content"), f"{name}.content")}
    if given.get("name") is not None:
        message["name"] = text(given["name"], f"{name}.name")
    return message


def read_content(value: object, name: str) -> str | list[dict[str, Any]]:
    """A text, or a list of parts.

    Raises:
        Wrong: it is neither, or a part's size is not in the row, so that nothing could bound its price.
    """
    if not isinstance(value, list):
        return text(value, name)
    if not value:
        raise Wrong(f"'{name}' is empty")
    return [_part(one, f"{name}[{index}]") for index, one in enumerate(value)]


def _part(value: object, name: str) -> dict[str, Any]:
    part = dict(mapping(value, name))
    kind = text(part.get("type"), f"{name}.type")
    if kind in _TEXTS:
        return {**part, "type": "text", "text": text(part.get("text"), f"{name}.text")}
    if kind not in _OTHERS:
        known = ", ".join(sorted({"text", *_OTHERS}))
        raise Wrong(f"'{name}.type' is {shown(kind)}, the price of which nothing bounds; known are {known}")
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        image = {"url": part.pop("image_url"), "detail": part.pop("detail", None)}
        return {**part, "type": "image_url", "image_url": {key: one for key, one in image.items() if one is not None}}
    return part
