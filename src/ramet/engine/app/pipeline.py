"""Staged kinds, in both patterns of DESIGN §4: one task that gathers state, or a task per stage.

Either way the first stage whose product the gathered state lacks runs next, and a crash resumes after the last stage
that was committed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, NamedTuple, TypeVar

from pydantic_core import from_json, to_jsonable_python

from ramet.engine.base.work import state_json
from ramet.engine.context.batch import results_of
from ramet.engine.context.outcome import Outcome
from ramet.engine.kinds.options import PLAIN, Sharing
from ramet.engine.kinds.registry import Handler, Kind, Registry, StageContext
from ramet.engine.kinds.signatures import check_parentheses, check_same_fields, is_async, one_payload
from ramet.model.task.task import NewTask

Function = TypeVar("Function", bound=Handler)
Register = Callable[..., Callable[[Handler], Handler]]
"""Registers a handler under a kind with options: :meth:`ramet.App.task`."""

Calls = Generator[Callable[[], Any], Any, Any]
"""Calls of an async or of a plain handler; each is answered with what it returned."""
Steps = Callable[[Any, tuple[Any, ...]], Calls]
"""The calls of a handler with this context and payload."""

OF_ONE_STAGE = frozenset(
    "queue priority limits errors concurrency resource alert_over process memory_bytes_max batch batch_seconds "
    "probation pulled".split()
)
"""Options of :meth:`ramet.App.task` that a stage with tasks of its own may have otherwise than its kind."""


class Stage(NamedTuple):
    """One step of a staged kind."""

    name: str
    """Name of its function."""
    product: str
    """Name under which the state keeps what it returned."""
    function: Handler
    takes_payload: bool


@dataclass(frozen=True, slots=True)
class StagedKind(Kind):
    """The base kind of a task per stage: a request for it gets its first stage, with the places of all of them."""

    pipeline: Pipeline | None = None

    def new_task(self, payload: Any = None, **options: Any) -> NewTask:
        assert self.pipeline is not None
        first = self.pipeline.kinds()[0]
        new = Kind.new_task(first, payload, **options)
        return new._replace(base=self.name, places=len(self.pipeline.stages))

    def check_claimable(self) -> None:
        assert self.pipeline is not None
        stages = ", ".join(kind.name for kind in self.pipeline.kinds())
        raise ValueError(f"{self.name} has a task per stage: claim its stages, {stages}")

    def end_task(self) -> NewTask:
        raise ValueError(f"{self.name} is a task per stage and cannot be on_lineage_end: give a kind of one task")


@dataclass(frozen=True, slots=True)
class StageKind(Kind):
    """The kind of one stage: only the stage before it, or the base kind, creates its tasks."""

    base: str = ""
    pipeline: Pipeline | None = None
    position: int = 0

    def next_stage(self, ctx: StageContext, value: Any) -> list[NewTask]:
        assert self.pipeline is not None
        return self.pipeline.next_tasks(ctx, self.position, value)

    def new_task(self, payload: Any = None, **options: Any) -> NewTask:
        raise ValueError(f"{self.name} is a stage of {self.base}: ask for {self.base}")

    def end_task(self) -> NewTask:
        raise ValueError(f"{self.name} is a stage of {self.base} and cannot be on_lineage_end: give a kind of one task")


class Pipeline:
    """The stages of a kind, in the order in which they are registered. Made by :meth:`ramet.App.pipeline`."""

    def __init__(
        self, registry: Registry, register: Register, kind: str, *, task_per_stage: bool, options: dict[str, Any]
    ) -> None:
        self._registry, self._register = registry, register
        self.kind = kind
        self.task_per_stage = task_per_stage
        self._options = options
        self.stages: list[Stage] = []
        if task_per_stage:
            registry.reserve_stages(kind)

    def stage(self, product: str | None = None, **options: Any) -> Callable[[Function], Function]:
        """Register the next stage: a function with the parameters of a handler.

        Its result is kept in the state under ``product``; what the last stage returns is the task's result. A stage
        that returns an outcome (``ctx.filter``, ``ctx.skip``, ``ctx.fail``, ``ctx.snooze``) ends or puts off the task
        there. ``ctx.state`` holds what the stages before it gathered. A stage that is not needed is left out when one
        before it puts its product there (``ctx.state["embed"] = None``); the last stage always runs.

        Args:
            product: name in the state; the function's own name when left out.
            options: with a task per stage, those of :meth:`ramet.App.task` that this stage has otherwise than the
                kind: ``queue``, ``priority``, ``limits``, ``errors``, ``concurrency``, ``resource``, ``alert_over``,
                ``process``, ``memory_bytes_max``, ``batch``, ``batch_seconds``, ``probation``, ``pulled``.

        Raises:
            ValueError: the product or the function's name is there already, an option is not a stage's to choose, or
                only some of the stages of one task are async.
        """

        check_parentheses("@pipeline.stage", product)

        def register(function: Function) -> Function:
            together = self.task_per_stage and int({**self._options, **options}.get("batch", 1)) > 1
            called = one_payload(function, many=together)
            self._check(called, product, options)
            parameters = len(inspect.signature(called).parameters)
            self.stages.append(Stage(called.__name__, product or called.__name__, called, parameters > 1))
            if self.task_per_stage:
                self._register_stage(self.stages[-1], options)
            elif len(self.stages) == 1:
                self._register(self.kind, **self._options)(_handler(called, partial(_gather, self)))
            return function

        return register

    def _check(self, function: Handler, product: str | None, options: dict[str, Any]) -> None:
        name = function.__name__
        others = sorted(options.keys() - (OF_ONE_STAGE if self.task_per_stage else ()))
        if others:
            whose = "one of the whole kind" if self.task_per_stage else "for a task per stage"
            raise ValueError(f"stage {name!r} of {self.kind!r}: {others[0]} is {whose}: give it to app.pipeline(...)")
        if any(stage.name == name or stage.product == (product or name) for stage in self.stages):
            raise ValueError(f"kind {self.kind!r} has a stage {name!r} or its product already: give another name")
        if not self.task_per_stage and any(is_async(stage.function) != is_async(function) for stage in self.stages):
            raise ValueError(f"kind {self.kind!r}: make all of its stages async, or none")
        if self.stages and not self.stages[0].takes_payload and len(inspect.signature(function).parameters) > 1:
            raise ValueError(f"kind {self.kind!r}: its first stage takes no payload, so stage {name!r} gets none")
        if self.stages:
            check_same_fields("stage", self.stages[0].function, function)

    def _register_stage(self, stage: Stage, options: dict[str, Any]) -> None:
        position, registry = len(self.stages) - 1, self._registry
        options = {**self._options, **options}
        together = int(options.get("batch", 1)) > 1
        handler = _handler(stage.function, partial(_run_many if together else _run_one, self, position))
        registry.expect_stage(f"{self.kind}.{stage.name}")
        self._register(f"{self.kind}.{stage.name}", **options)(handler)
        made = registry.get(handler)
        registry.put_stage(StageKind(**_fields(made), base=self.kind, pipeline=self, position=position))
        if position == 0:
            registry.put_stage(StagedKind(**_fields(made) | {"name": self.kind, "handler": None}, pipeline=self))

    def kinds(self) -> list[Kind]:
        """Return the kinds of the stages, in order."""
        return [self._registry.get(f"{self.kind}.{stage.name}") for stage in self.stages]

    def next_tasks(self, ctx: StageContext, position: int, value: Any) -> list[NewTask]:
        """Return the tasks that a stage that ended like this hands on to: the next stage's, unless it is the last or
        chose an end.
        """
        if isinstance(value, Outcome) or position == len(self.stages) - 1:
            return []
        return [self.next_task(ctx, position, value)]

    def next_task(self, ctx: StageContext, position: int, value: Any) -> NewTask:
        """Return the task of the next stage that is needed: same key and payload, with the state that was gathered."""
        state = {**ctx.state, self.stages[position].product: to_jsonable_python(value)}
        kind = self.kinds()[_missing(self, state, position + 1)]
        text = state_json(state, kind.limits.pipeline_state_bytes_max)
        # The payload is the first stage's, word for word; its key and shape were judged with that one. A unique key is
        # handed on, and so is the place on a path.
        typed = from_json(ctx._work.payload) if kind.payload is None else kind.read(ctx._work)
        sharing = Sharing(kind.sharing.concurrency, kind.sharing.resource_of(kind.name, typed))
        bare = replace(kind, payload=None, key=None, trap=False, url=None, paths=PLAIN, sharing=sharing)
        new = Kind.new_task(bare, from_json(ctx._work.payload), key=ctx.key)
        return new._replace(
            base=self.kind, places=0, pipeline_state=text, payload=ctx._work.payload, path=ctx.path_rule,
            payload_version=ctx._work.payload_version, retry=ctx._work.retry,
        )  # fmt: skip


def _fields(kind: Kind) -> dict[str, Any]:
    return {name: getattr(kind, name) for name in Kind.__dataclass_fields__}


def _arguments(stage: Stage, payload: tuple[Any, ...]) -> tuple[Any, ...]:
    return payload[:1] if stage.takes_payload else ()


def _missing(pipeline: Pipeline, state: dict[str, Any], first: int = 0) -> int:
    """Position of the first stage, from ``first`` on, whose product the state lacks; the last one's is the result."""
    for position, stage in enumerate(pipeline.stages[first:-1], first):
        if stage.product not in state:
            return position
    return len(pipeline.stages) - 1


def _gathered(pipeline: Pipeline, ctx: StageContext, position: int, value: Any) -> tuple[str, dict[str, Any]]:
    """Return the name of the next stage that is needed, and the state after a stage."""
    state = {**ctx.state, pipeline.stages[position].product: to_jsonable_python(value)}
    return pipeline.stages[_missing(pipeline, state)].name, state


def _handler(function: Handler, steps: Steps) -> Handler:
    """Return a handler that makes these calls one by one; it awaits each where ``function``, the stage, is async."""

    async def run_async(ctx: Any, *payload: Any) -> Any:
        calls, answer = steps(ctx, payload), None
        while True:
            try:
                call = calls.send(answer)
            except StopIteration as end:
                return end.value
            answer = await call()

    def run(ctx: Any, *payload: Any) -> Any:
        calls, answer = steps(ctx, payload), None
        while True:
            try:
                call = calls.send(answer)
            except StopIteration as end:
                return end.value
            answer = call()

    made: Handler = wraps(function)(run_async if is_async(function) else run)
    return made


def _gather(pipeline: Pipeline, ctx: Any, payload: tuple[Any, ...]) -> Calls:
    """Run every stage whose product the state lacks, and commit after each."""
    while True:
        position = _missing(pipeline, ctx.state)
        stage = pipeline.stages[position]
        value = yield partial(stage.function, ctx, *_arguments(stage, payload))
        if isinstance(value, Outcome) or position == len(pipeline.stages) - 1:
            return value
        yield partial(ctx.checkpoint, *_gathered(pipeline, ctx, position, value))


def _run_one(pipeline: Pipeline, position: int, ctx: Any, payload: tuple[Any, ...]) -> Calls:
    """Run a stage for its task."""
    stage = pipeline.stages[position]
    value = yield partial(stage.function, ctx, *_arguments(stage, payload))
    return _handed_on(pipeline, ctx, position, value)


def _run_many(pipeline: Pipeline, position: int, batch: Any, payloads: tuple[Any, ...]) -> Calls:
    """Run a stage for the tasks of a batch; those whose result is an error hand nothing on."""
    stage = pipeline.stages[position]
    values = results_of((yield partial(stage.function, batch, *_arguments(stage, payloads))), len(batch))
    for ctx, value in zip(batch, values, strict=True):
        if not isinstance(value, BaseException):
            _handed_on(pipeline, ctx, position, value)
    return values


def _handed_on(pipeline: Pipeline, ctx: Any, position: int, value: Any) -> Any:
    for new in pipeline.next_tasks(ctx, position, value):
        ctx.spawn_next(new)
    return value
