"""Tasks that programs of any language ask for: the bodies of submits and spawns, and the guard's answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from ramet import Budget, Retry, SpawnResult
from ramet.model.lineage.limits import BACKOFF_SECONDS_MAX
from ramet.model.paths import DEPTH_MAX
from ramet.web.actions.action import one_line, without_nul
from ramet.web.answer import Answer, json_value
from ramet.web.page import BadInput

Thing = TypeVar("Thing")

TEXT_CHARACTERS_MAX = 2_000
ITEMS_MAX = 1_000
"""Tasks in one request."""
AFTER_MAX = 1_000
SECONDS_MAX = 10 * 366 * 86_400
WHOLE_MAX = 2**53 - 1
"""The largest whole number that JSON carries everywhere."""


Text = Annotated[
    str, StringConstraints(min_length=1, max_length=TEXT_CHARACTERS_MAX), AfterValidator(without_nul)
]  # fmt: skip
Words = Annotated[str, StringConstraints(max_length=10_000), AfterValidator(without_nul)]
Seconds = Annotated[float, Field(ge=0, le=SECONDS_MAX, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=WHOLE_MAX)]
OnDependencyFailure = Literal["run", "skip"]


class Body(BaseModel):
    """A body, or a part of one: nothing that is not named here."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    def given(self, *without: str) -> dict[str, Any]:
        """Return the fields that were given, but these."""
        return {name: getattr(self, name) for name in self.model_fields_set if name not in without}


class BudgetBody(Body):
    """A part of what the lineage has, for a task and all that grows below it. Money is whole nano-dollars."""

    max_tasks: Count | None = None
    max_cost: Annotated[int | None, Field(ge=0, le=WHOLE_MAX)] = None
    keep_cost: Annotated[int, Field(ge=0, le=WHOLE_MAX)] = 0
    max_spawn_depth: Annotated[int | None, Field(ge=0, le=WHOLE_MAX)] = None
    seconds: Seconds | None = None


_RETRY = Retry()


class RetryBody(Body):
    """When the task is tried again, instead of the engine's default."""

    attempts: Annotated[int | None, Field(ge=1, le=WHOLE_MAX)] = None
    base_seconds: Annotated[float, Field(ge=0, le=BACKOFF_SECONDS_MAX)] = _RETRY.base_seconds
    factor: Annotated[float, Field(ge=1, le=1_000)] = _RETRY.factor
    cap_seconds: Annotated[float, Field(ge=0, le=BACKOFF_SECONDS_MAX)] = _RETRY.cap_seconds
    jitter: Annotated[float, Field(ge=0, le=1)] = _RETRY.jitter


def made(kind: Callable[..., Thing], body: Body) -> Thing:
    """Return the engine's value with the fields that were given.

    Raises:
        BadInput: it cannot have them.
    """
    try:
        return kind(**body.given())
    except ValueError as error:
        raise BadInput(one_line(error)) from error


class KindAndKey(Body):
    """A task of the same lineage by what it is about."""

    kind: Text
    key: Text


class WantedTask(Body):
    """A task that is asked for. Only the kind is needed; the key is made of the payload where none is given."""

    kind: Text
    payload: JsonValue = None
    key: Text | None = None
    queue: Text | None = None
    priority: Annotated[int | None, Field(ge=-1_000_000, le=1_000_000)] = None
    delay_seconds: Seconds = 0.0
    task_seconds: Seconds | None = None
    """The task's own time, where that is less than its kind's."""
    after: list[Text | KindAndKey] = Field(default=[], max_length=AFTER_MAX)
    """Tasks that have to end first: ids, or kind and key."""
    path: Annotated[list[Words], Field(max_length=DEPTH_MAX)] | None = None
    document_id: Text | None = None
    reserve_path: bool = False
    path_scope: Literal["queue", "lineage"] | None = None
    on_dependency_failure: OnDependencyFailure | None = None
    budget: BudgetBody | None = None
    tags: list[Text] = Field(default=[], max_length=10)

    def options(self) -> dict[str, Any]:
        """Return what was given besides kind and payload, as submits and spawns of the engine take it."""
        found = self.given("kind", "payload")
        if self.after:
            found["after"] = [one if isinstance(one, str) else (one.kind, one.key) for one in self.after]
        if self.budget is not None:
            found["budget"] = made(Budget, self.budget)
        return found


class WantedRoot(WantedTask):
    """A task at the root of a lineage."""

    max_attempts: Annotated[int | None, Field(ge=1, le=WHOLE_MAX)] = None
    retry: RetryBody | None = None
    payload_version: Annotated[int | None, Field(ge=1, le=WHOLE_MAX)] = None

    def options(self) -> dict[str, Any]:
        """Return what was given besides kind and payload."""
        found = super().options()
        if self.retry is not None:
            found["retry"] = made(Retry, self.retry)
        return found


class WantedSpawn(WantedTask):
    """A child that a claimed task asks for."""

    keep_edge: bool = False
    """Keep the edge to the task that exists already, where the spawn is refused because of it."""
    required: bool = False
    """Whether the task fails without this child."""


class SpawnAnswer(Answer):
    """The guard's answer to one task that was asked for."""

    id: str | None
    """Id of the new task; null where it was refused."""
    kind: str
    key: str
    reason: str | None
    """Why it was refused, as a code; null for a new task."""
    detail: str
    """The same in words."""
    winner: str | None
    """The task that is there already, or closes the cycle."""
    facts: dict[str, JsonValue]

    @classmethod
    def each(cls, answers: Sequence[SpawnResult]) -> list[SpawnAnswer]:
        """Return the answers for programs."""
        return [
            cls(
                id=one.id, kind=one.kind, key=one.key, reason=None if one.reason is None else one.reason.value,
                detail=one.detail, winner=one.winner,
                facts={name: json_value([*fact] if isinstance(fact, tuple) else fact)
                       for name, fact in one.facts.items()},
            )
            for one in answers
        ]  # fmt: skip
