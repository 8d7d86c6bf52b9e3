"""What kinds, submits and spawns say about paths, and what follows for one task (DESIGN §7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self, TypedDict, Unpack

from ramet.model.paths import ON_DEPENDENCY_FAILURE, SCOPES, InvalidPath, PathElements, PathRule, path_of

PathOf = Callable[[Any], Sequence[str] | None]


class PathArguments(TypedDict, total=False):
    """Where a task stands in line (DESIGN §7), for everything that submits or spawns.

    Of two tasks of a queue of which one's path is a prefix of the other's, or equal to it, the one that took its place
    later waits for the end of the other. What is no path is refused with a ``InvalidPath`` that names the element.
    """

    path: Sequence[str] | None
    """At most 32 texts of at most 1,024 bytes each. Empty for none; left out (or None), what the kind's ``path`` gives
    for the payload."""
    document_id: str | None
    """``document_id=x`` is ``path=[x]``. Not together with ``path``."""
    reserve_path: bool
    """True takes the place in line now, although the task is delayed; else it is taken when the task is due."""
    path_scope: str | None
    """``queue`` or ``lineage``, instead of the kind's (:meth:`ramet.App.task`)."""
    on_dependency_failure: str | None
    """``skip`` or ``run``, instead of the kind's (:meth:`ramet.App.task`)."""


_NAMES = frozenset(PathArguments.__annotations__)


class TaskOptions(PathArguments, total=False):
    """What one item of :meth:`ramet.Client.submit_many` says besides its kind and payload."""

    key: str | None
    queue: str | None
    priority: int | None
    delay_seconds: float
    task_seconds: float | None


class PathOptions(NamedTuple):
    """What a kind declares about the paths of its tasks."""

    path: PathOf | None = None
    """From the payload, where its tasks stand when nobody says otherwise."""
    scope: str = "queue"
    on_dependency_failure: str = "skip"

    def checked(self, kind: str) -> Self:
        """Itself.

        Raises:
            ValueError: an option is not one of its values; the message says what to give.
        """
        try:
            _one_of("path_scope", self.scope, SCOPES)
            _one_of("on_dependency_failure", self.on_dependency_failure, ON_DEPENDENCY_FAILURE)
        except InvalidPath as error:
            raise ValueError(f"kind {kind!r}: {error}") from None
        return self

    def rule(self, typed: Any, **given: Unpack[PathArguments]) -> PathRule | None:
        """The rule of a task with this payload; None for a task that nothing constrains.

        Raises:
            InvalidPath: no such path, or an option is not one of its values; one line names what is wrong.
            TypeError: there is no such option.
        """
        if not given and self.path is None:
            return None
        if not given.keys() <= _NAMES:
            unknown = min(given.keys() - _NAMES)
            raise TypeError(f"there is no option {unknown!r}: of a path there are {', '.join(sorted(_NAMES))}")
        scope = given.get("path_scope")
        failure = given.get("on_dependency_failure")
        scope = self.scope if scope is None else _one_of("path_scope", scope, SCOPES)
        if failure is None:
            failure = self.on_dependency_failure
        else:
            _one_of("on_dependency_failure", failure, ON_DEPENDENCY_FAILURE)
        elements = _elements(given.get("path"), given.get("document_id"))
        if elements is None:
            elements = () if self.path is None else path_of(self.path(typed))
        return PathRule(elements, scope, failure, bool(given.get("reserve_path"))) if elements else None


PLAIN = PathOptions()


def _elements(path: Sequence[str] | None, document_id: str | None) -> PathElements | None:
    """The path that somebody gave, in one of both ways; None where nobody gave any."""
    if document_id is None:
        return None if path is None else path_of(path)
    if path is not None:
        raise InvalidPath("path and document_id are both given: leave one out, document_id=x is path=[x]")
    return path_of([document_id])


def _one_of(name: str, value: str, values: Sequence[str]) -> str:
    if value not in values:
        raise InvalidPath(f"{name} is {value!r}, give {' or '.join(map(repr, values))}")
    return value
