"""A prompt in canonical form: what is asked, and by what name the same question is known again."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

Endpoint = Literal["chat", "embeddings"]
"""Kind of answer that a question asks for: words, or a vector."""


class Request(NamedTuple):
    """One question to a model. Providers translate it into their own terms."""

    key: str
    """Identity: the same key is the same question. Travels to providers as ``custom_id``; 64 hexadecimal digits."""
    model: str
    messages: tuple[Mapping[str, Any], ...]
    """``{"role": "system" | "user" | "assistant" | "tool", "content": text or a list of parts}``, at least one. An
    assistant may have ``tool_calls`` and then no content, a tool has its ``tool_call_id``. For embeddings one, of the
    user, whose content is a text or a list of texts."""
    max_output_tokens: int
    """The most that it may answer, reasoning included; bounds the price."""
    parameters: Mapping[str, Any] = {}
    """``temperature``, ``top_p``, ``stop``, ``seed``, ``reasoning_effort``, ...: sent on under the provider's names."""
    schema: Mapping[str, Any] | None = None
    """JSON Schema that the answer must fit; sent on as structured output where the provider knows that."""
    endpoint: Endpoint = "chat"
    row: Mapping[str, Any] | None = None
    """Id and own columns of the row that asks it, where answers are handed on row by row; no part of what is asked."""
    asked_bytes: int | None = None
    """Bytes of its canonical form without the row, where they were counted."""

    @property
    def size(self) -> int:
        """Bytes of its canonical form, about: an upper bound of texts that need no escapes."""
        asked = self.asked_bytes
        if asked is None:
            asked = _bytes_of([self.model, self.messages, self.max_output_tokens, self.parameters, self.schema])
        return asked if self.row is None else asked + _bytes_of(self.row)

    @property
    def answers(self) -> int:
        """Number of answers that are asked for and paid: the parameter ``n``."""
        count = self.parameters.get("n")
        return count if type(count) is int and count > 1 else 1

    @property
    def wants_json(self) -> bool:
        """True if the answer has to be JSON of any shape: the parameter ``response_format``."""
        wanted = self.parameters.get("response_format")
        return isinstance(wanted, Mapping) and wanted.get("type") == "json_object"

    @classmethod
    def of(  # noqa: PLR0917 - the parts of a question in their order
        cls,
        model: str,
        messages: Sequence[Mapping[str, Any]],
        max_output_tokens: int,
        parameters: Mapping[str, Any] | None = None,
        schema: Mapping[str, Any] | None = None,
        endpoint: Endpoint = "chat",
    ) -> Request:
        """Return a question with its key."""
        told, asked = tuple(messages), dict(parameters or {})
        text = _asked_text(model, told, max_output_tokens, asked, schema, endpoint).encode()
        key = hashlib.sha256(text).hexdigest()
        return cls(key, model, told, max_output_tokens, asked, schema, endpoint, asked_bytes=len(text))


def canonical(value: object) -> str:
    """JSON text of a value, the same for equal values: sorted keys, no spaces, ``1.0`` written as ``1``, no NaN.

    Raises:
        ValueError: a number is not finite.
    """
    try:
        text = _TEXT.encode(value)
    except TypeError:  # A mapping that is not a dict.
        return _TEXT.encode(_plain(value))
    # Only a number such as 1.0 or 1e+16 is written otherwise, and most requests look as if they had none.
    return _TEXT.encode(_plain(value)) if _LIKE_WHOLE.search(text) else text


_TEXT = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_LIKE_WHOLE = re.compile(r"\d(?:\.0(?!\d)|e)")


def _plain(value: object) -> object:
    # A dict is asked for by its type first: isinstance of an abstract class costs more than all the rest.
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if type(value) is dict or isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


def identity(  # noqa: PLR0917 - the parts of a question in their order
    model: str,
    messages: tuple[Mapping[str, Any], ...],
    max_output_tokens: int,
    parameters: Mapping[str, Any],
    schema: Mapping[str, Any] | None,
    endpoint: Endpoint = "chat",
) -> str:
    """Return the key of a question: model and canonical request."""
    return digest(_asked_text(model, messages, max_output_tokens, parameters, schema, endpoint))


def _asked_text(  # noqa: PLR0917 - the parts of a question in their order
    model: str,
    messages: tuple[Mapping[str, Any], ...],
    max_output_tokens: int,
    parameters: Mapping[str, Any],
    schema: Mapping[str, Any] | None,
    endpoint: Endpoint,
) -> str:
    """All that is asked, as text that is the same for the same question."""
    asked = canonical([model, list(messages), max_output_tokens, dict(parameters), schema])
    return asked if endpoint == "chat" else f"{endpoint} {asked}"


def _bytes_of(value: object) -> int:
    return len(canonical(value).encode(errors="surrogatepass"))


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()
