"""Tasks by key, in any spelling: who has it, who was blocked and why, who won (promise I8)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ramet.model.causes import Cause
from ramet.model.keys import InvalidKey, json_key, text_key, title_key, url_key
from ramet.model.lineage.guard import GlobalHolder
from ramet.model.task.task import Block, ParentBlockCount, Task
from ramet.store.store import Store

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from ramet.engine.kinds.registry import Handler, Kind, Registry

Key = TypeVar("Key")
Found = TypeVar("Found")
_CANONICAL: Sequence[Callable[[str], str]] = (text_key, url_key, title_key)


def spellings(key: str) -> list[str]:
    """Return the forms in which a key may be stored whose kind is not known here: as it is written, or as the canonical
    text, URL, title or payload of that. The surest is the first.
    """
    found = [key]
    for canonical in _CANONICAL:
        with suppress(InvalidKey):
            found.append(canonical(key))
    for value in _values(key):
        with suppress(InvalidKey):
            found.append(json_key(value if isinstance(value, dict) else {"payload": value}))
    return list(dict.fromkeys(found))


def spellings_of(registry: Registry, kind: str | Handler | None, key: str) -> list[str]:
    """Return the forms in which a key may be stored: what this kind makes of it, or, where that is unknown, of any
    kind.

    A kind is asked by calling its key function with the text as its payload, or as the one field that its payload
    needs. The text itself is among them: a submit or spawn may have named the key.
    """
    known = registry.get(kind) if kind is not None and kind in registry else None
    made = [] if known is None else [one for value in _values(key) if (one := _made_by(known, value)) is not None]
    if not made:
        return spellings(key)
    found = [key, *made]
    with suppress(InvalidKey):
        found.insert(1, text_key(key))
    return list(dict.fromkeys(found))


async def first_found(
    keys: Sequence[Key], look: Callable[[Key], Awaitable[Found]], found: Callable[[Found], Any] = bool
) -> Found:
    """Return the answer for the first of these keys (or questions) that finds anything; where none does, that for the
    last.
    """
    for key in keys[:-1]:
        answer = await look(key)
        if found(answer):
            return answer
    return await look(keys[-1])


def _values(text: str) -> list[Any]:
    """Return the payloads that a text may stand for: itself, and the JSON value that it is."""
    from pydantic_core import from_json

    with suppress(ValueError, TypeError):
        value = from_json(text, allow_inf_nan=False)
        return [text] if value is None else [text, value]
    return [text]


def _made_by(kind: Kind, value: Any) -> str | None:
    """Return the key that a kind gives to a payload; None where it is not a payload of the kind."""
    if kind.payload is None:
        return None
    field = _one_field(kind.payload)
    payloads = [value] if field is None else [value, {field: value}]
    return next((key for payload in payloads if (key := _tried(kind, payload)) is not None), None)


def _tried(kind: Kind, payload: Any) -> str | None:
    try:
        return kind.key_of(payload)
    except Exception:
        # Whatever a key function raises says that it makes no key of this.
        return None


@lru_cache(maxsize=256)
def _one_field(payload: TypeAdapter[Any]) -> str | None:
    """Return the field of a payload that alone makes one: the only one that must be given."""
    from pydantic import PydanticUserError

    try:
        schema = payload.json_schema()
    except PydanticUserError:
        return None
    required: Sequence[str] = schema.get("required", ())
    return required[0] if len(required) == 1 else None


SHOWN_MAX = 100
"""Most holders, and refusals, of one kind and key that are listed."""


class KeyExplanation(NamedTuple):
    """Stored records of a kind and key, explained."""

    kind: str
    key: str
    """Key as it is stored: as asked for, or as canonical text, URL or title of that."""
    tasks: tuple[Task, ...]
    """Tasks that have this identity, the newest first; at most one in a lineage."""
    blocks: tuple[Block, ...]
    """Refused spawns of it, the one that was refused last first."""
    why: tuple[Cause, ...]
    """Explanations of the blocks, with their numbers, the winner and what would allow each."""
    holder: GlobalHolder | None
    """Present holder of the key over all lineages, for a kind with ``unique="global"``."""
    holder_pruned: bool
    """The holder's lineage was pruned; it holds the key all the same."""
    more: bool
    """There may be more than was looked at: name the lineage."""
    unnamed: tuple[ParentBlockCount, ...] = ()
    """Number of refusals of this kind beyond the stored rows, if nothing names the key; it may be among them."""


async def explain_key(
    store: Store, kind: str, keys: Iterable[str], tracking_id: str | None = None
) -> KeyExplanation | None:
    """Return the tasks and refusals of a kind and the first of these keys that has any; None if there are none."""
    spelled = list(keys)
    for spelling in spelled:
        known = await store.known(kind, spelling, tracking_id, limit=SHOWN_MAX)
        if known.tasks or known.blocks or known.holder is not None:
            lineages = {}
            for name in {block.tracking_id for block in known.blocks}:
                lineage = await store.lineage(name)
                if lineage is not None:
                    lineages[name] = lineage
            from ramet.engine.explain.blocks import refusals

            why = await refusals(store, known.blocks, lineages)
            pruned = known.holder is not None and await store.get(known.holder.id) is None
            return KeyExplanation(kind, spelling, known.tasks, known.blocks, why, known.holder, pruned, known.more)
    unnamed = await store.parent_block_counts(tracking_id, kind=kind, limit=SHOWN_MAX)
    return KeyExplanation(kind, spelled[0], (), (), (), None, False, False, tuple(unnamed)) if unnamed else None
