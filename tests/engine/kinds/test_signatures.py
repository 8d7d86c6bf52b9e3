"""A handler that cannot work is refused where it is written; one with several parameters has a payload of fields."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any, Protocol

import pytest
from pydantic import BaseModel, Field, ValidationError

from ramet import App, BatchContext, Client, Context, SyncBatchContext, SyncContext, UnknownKind
from ramet.model.task.task import TaskState
from ramet.testing import drain, fresh_client, run_task


class Order(BaseModel):
    number: int


class Spawning(Protocol):
    def spawn(self, kind: str) -> None: ...


class Service:
    def __init__(self) -> None:
        self.seen: list[int] = []

    async def handle(self, ctx: Context, number: int) -> None:
        self.seen.append(number)

    async def __call__(self, ctx: Context, number: int) -> int:
        return number + 1


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
async def client(app: App) -> AsyncIterator[Client]:
    async with fresh_client(app) as client:
        yield client


# --- refused where it is written --------------------------------------------------------------------------------


async def forgot_annotated(number: int) -> None: ...
async def forgot_model(order: Order, note: str) -> None: ...
async def forgot_bare(number) -> None: ...  # type: ignore[no-untyped-def]
async def untyped(ctx, a, b) -> None: ...  # type: ignore[no-untyped-def]
async def half_typed(ctx: Context, a: int, b) -> None: ...  # type: ignore[no-untyped-def]
async def any_number(ctx: Context, a: int, *more: int) -> None: ...
async def any_names(ctx: Context, **fields: int) -> None: ...
async def nothing() -> None: ...
async def yields(ctx: Context) -> AsyncIterator[int]:
    yield 1


def yields_too(ctx: SyncContext) -> Iterator[int]:
    yield 1


async def not_there(ctx: Context, page: NotThere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


REFUSED: list[tuple[Any, str]] = [
    (forgot_annotated, r"forgot_annotated has no context: .* write \(ctx: Context, number"),
    (forgot_model, "forgot_model has no context: its first parameter, order"),
    (forgot_bare, "forgot_bare has no context: its first parameter, number"),
    (untyped, r"untyped takes a and b, without a type for a: annotate each, as in \(ctx, a: str, b: str\)"),
    (half_typed, r"half_typed takes a and b, without a type for b: annotate each, as in \(ctx, a: int, b: str\)"),
    (any_number, "any_number takes any number of more: name and annotate each parameter"),
    (any_names, "any_names takes any number of fields: name and annotate each parameter"),
    (Service.handle, r"handle is a method.*app.task\('handle'\)\(service.handle\)"),
    (nothing, r"nothing takes no parameters: give it \(ctx\) or \(ctx, payload\)"),
    (yields, "yields yields: let it return its result"),
    (yields_too, "yields_too yields: let it return its result"),
    (not_there, "not_there is annotated with NotThere, which is not there"),
    (Order, "cannot be a handler: give a function"),
    (7, "cannot be a handler: give a function"),
]


@pytest.mark.parametrize(
    ("handler", "sentence"), REFUSED, ids=[getattr(handler, "__name__", "number") for handler, _ in REFUSED]
)
@pytest.mark.parametrize(
    "register",
    [
        lambda app, handler: app.task("k")(handler),
        lambda app, handler: app.task("k", process=True)(handler),
        lambda app, handler: app.pipeline("k").stage()(handler),
        lambda app, handler: app.pipeline("k", task_per_stage=True).stage()(handler),
        lambda app, handler: app.schedule()(app.task("k")(handler)),
        lambda app, handler: (app.task("k")(lambda ctx: None), app.on_end("k")(handler)),
    ],
    ids=["task", "process", "stage", "task per stage", "schedule", "on_end"],
)
def test_what_cannot_be_a_handler_is_refused_at_its_decorator_in_one_sentence(
    app: App, register: Callable[[App, Any], Any], handler: Any, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence) as refused:
        register(app, handler)
    assert "\n" not in str(refused.value)
    assert [kind.name for kind in app.registry.kinds] in ([], ["k"])


def test_a_batch_handler_takes_one_list_of_payloads(app: App) -> None:
    async def two(batch: BatchContext, orders: list[int], notes: list[str]) -> None: ...
    async def no_batch(orders: list[int]) -> None: ...

    with pytest.raises(ValueError, match=r"two takes orders and notes: give it \(batch, payloads: list"):
        app.task("two", batch=10)(two)
    with pytest.raises(ValueError, match=r"two takes orders and notes"):
        app.pipeline("staged", task_per_stage=True, batch=10).stage()(two)
    with pytest.raises(ValueError, match="no_batch has no context"):
        app.task("none", batch=10)(no_batch)


def test_whatever_can_be_a_context_is_one(app: App) -> None:
    def by_any(what: Any, number: int) -> None: ...
    def by_object(what: object) -> None: ...
    def by_protocol(what: Spawning) -> None: ...
    def by_union(what: Context | SyncContext) -> None: ...
    def by_many(what: BatchContext | SyncBatchContext, numbers: list[int]) -> None: ...
    def unnamed(_) -> None: ...  # type: ignore[no-untyped-def]
    def any_arguments(*args: Any, **options: Any) -> None: ...

    for handler in (by_any, by_object, by_protocol, by_union, unnamed, any_arguments):
        app.task(handler.__name__)(handler)
    app.task("many", batch=2)(by_many)
    assert app.registry.get("any_arguments").new_task({"a": 1}).payload == '{"a":1}'


def test_on_end_without_the_name_of_a_kind_and_a_pipeline_without_a_name_say_what_to_write(app: App) -> None:
    async def handler(ctx: Context) -> None: ...

    with pytest.raises(UnknownKind, match="no kind 'handler' is registered"):
        app.on_end(handler)
    with pytest.raises(ValueError, match=r'write p = app.pipeline\("name"\)'):
        app.pipeline(handler)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the kind is 7: give its name as text"):
        app.task(7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the kind is empty"):
        app.task("")(handler)


def test_a_schedule_whose_payload_does_not_fit_is_refused_at_its_decorator(app: App) -> None:
    @app.task()
    async def report(ctx: Context, day: int, format: str = "pdf") -> None: ...

    with pytest.raises(ValidationError, match="day"):
        app.schedule(every_seconds=60)(report)
    with pytest.raises(ValidationError, match="day"):
        app.schedule(every_seconds=60, kind="report", payload={"format": "pdf"})
    app.schedule(every_seconds=60, payload={"day": 1})(report)
    assert [wanted.kind for wanted in app.schedules] == ["report"]


# --- without a name ----------------------------------------------------------------------------------------


async def test_decorators_work_without_a_name(app: App, client: Client) -> None:
    @app.schedule()
    @app.task()
    async def tick(ctx: Context) -> None: ...

    @app.task()
    async def tock(ctx: Context) -> None: ...

    @app.task(queue="slow")
    def slow(ctx: SyncContext, number: int) -> int:
        return number

    pipeline = app.pipeline("staged")

    @pipeline.stage()
    async def first(ctx: Context, number: int) -> int:
        return number

    @pipeline.stage()
    async def second(ctx: Context) -> Any:
        return ctx.state["first"] + 1

    assert [kind.name for kind in app.registry.kinds] == ["slow", "staged", "tick", "tock"]
    assert [(wanted.kind, wanted.open_times) for wanted in app.schedules] == [("tick", True)]
    assert (await run_task(app, slow, 7)).result == 7
    assert (await run_task(app, "staged", 7)).result == 8


@pytest.mark.parametrize("bare", ["task", "schedule", "stage"])
def test_a_decorator_without_parentheses_is_refused_with_what_to_write(app: App, bare: str) -> None:
    async def work(ctx: Context) -> None: ...

    decorators: dict[str, Any] = {"task": app.task, "schedule": app.schedule, "stage": app.pipeline("p").stage}
    with pytest.raises(ValueError, match=rf"{bare} above work has no parentheses: write @\w+\.{bare}\(\)"):
        decorators[bare](work)
    assert app.registry.kinds == ()


# --- several parameters -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["async", "thread", "process", "stage", "task per stage"])
async def test_several_parameters_are_the_fields_of_a_payload(app: App, client: Client, how: str) -> None:
    async def awaited(ctx: Context, a: int, b: str, *, c: float = 0.5) -> list[Any]:
        return [a, b, c]

    def plain(ctx: SyncContext, a: int, b: str, *, c: float = 0.5) -> list[Any]:
        return [a, b, c]

    if "stage" in how:
        pipeline = app.pipeline("two", task_per_stage=how != "stage")

        @pipeline.stage()
        async def first(ctx: Context, a: int, b: str, *, c: float = 0.5) -> list[Any]:
            return [a, b, c]

        @pipeline.stage()
        async def between(ctx: Context) -> None: ...

        @pipeline.stage()
        async def last(ctx: Context, a: int, b: str, *, c: float = 0.5) -> list[Any]:
            assert ctx.state["first"] == [a, b, c]
            return [a, b, c]
    else:
        app.task("two", process=how == "process")(plain if how == "thread" else awaited)

    begun = await client.submit("two", {"a": "1", "b": "x"})
    with pytest.raises(ValidationError, match=r"two|first|plain|awaited"):
        await client.submit("two", {"a": 1})
    with pytest.raises(ValidationError, match="d"):
        await client.submit("two", {"a": 1, "b": "x", "d": 4})
    with pytest.raises(ValidationError):
        await client.submit("two", 7)
    await drain(app, client)
    ended = [task async for task in client.all_tasks(tracking_id=begun.tracking_id)]
    assert {task.state for task in ended} == {TaskState.SUCCESS}
    assert ended[-1].result == [1, "x", 0.5]
    assert {task.key for task in ended} == {'{"a":1,"b":"x","c":0.5}'}, "as for a model with these fields"
    again = await client.submit("two", {"b": "x", "c": 0.5, "a": 1.0}, tracking_id=begun.tracking_id)
    assert again.id == begun.id


async def test_a_handler_with_fields_is_spawned_by_itself_and_has_a_key_function_and_an_end(app: App) -> None:
    @app.task(key=lambda order: f"order {order.number}")
    async def ship(ctx: Context, number: int, to: str = "home") -> str:
        return f"{number} {to}"

    @app.task()
    async def place(ctx: Context, number: int) -> None:
        ctx.spawn(ship, {"number": number})

    @app.on_end("ship")
    async def abandon(ctx: Context, number: int, to: str = "home") -> None: ...

    run = await run_task(app, place, 7)
    assert [(child.kind, child.key, child.payload) for child in run.spawns] == [
        ("ship", "order 7", {"number": 7, "to": "home"})
    ]
    assert app.registry.get(ship) is app.registry.get("ship")
    assert app.registry.get(ship).on_end is not None


def test_functions_of_one_kind_take_the_same_fields_or_none(app: App) -> None:
    async def two(ctx: Context, a: int, b: str) -> None: ...
    async def other(ctx: Context, a: int, c: str) -> None: ...
    async def one(ctx: Context, a: int) -> None: ...

    for task_per_stage in (False, True):
        pipeline = app.pipeline(f"staged {task_per_stage}", task_per_stage=task_per_stage)
        pipeline.stage()(two)
        with pytest.raises(ValueError, match=r"stage other gets what the kind's handler gets: give it \(ctx, a, b\)"):
            pipeline.stage()(other)
        with pytest.raises(ValueError, match=r"stage one gets what the kind's handler gets"):
            pipeline.stage()(one)
    app.task()(two)
    with pytest.raises(
        ValueError, match=r"on_end handler one gets what the kind's handler gets: give it \(ctx, a, b\)"
    ):
        app.on_end("two")(one)


async def test_what_an_annotation_says_beside_the_type_holds(app: App) -> None:
    @app.task()
    async def small(ctx: Context, number: Annotated[int, Field(lt=10)]) -> int:
        return number

    @app.task()
    async def pair(ctx: Context, a: Annotated[int, Field(lt=10)], b: int) -> None: ...

    assert (await run_task(app, small, 9)).result == 9
    for kind, payload in ((small, 10), (pair, {"a": 10, "b": 10})):
        with pytest.raises(ValidationError, match="less than 10"):
            app.registry.get(kind).new_task(payload)


async def test_a_bound_method_an_object_and_a_partial_are_handlers(app: App) -> None:
    async def scaled(ctx: Context, number: int, factor: int) -> int:
        return number * factor

    service = Service()
    app.task("bound")(service.handle)
    app.task("object")(service)
    app.task("partial")(functools.partial(scaled, factor=2))
    await run_task(app, "bound", 7)
    assert service.seen == [7]
    assert (await run_task(app, "object", 7)).result == 8


# --- spawning what nobody registered ----------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["spawn", "spawn_now", "thread", "batch"])
async def test_spawning_an_unknown_kind_is_one_permanent_error_with_the_known_kinds(
    app: App, client: Client, how: str
) -> None:
    calls: list[int] = []

    async def spawning(ctx: Context) -> None:
        calls.append(1)
        ctx.spawn("nokind", 1)

    async def at_once(ctx: Context) -> None:
        calls.append(1)
        await ctx.spawn_now("nokind", 1)

    def in_a_thread(ctx: SyncContext) -> None:
        calls.append(1)
        ctx.spawn("nokind", 1)

    async def together(batch: BatchContext) -> None:
        calls.append(1)
        batch[0].spawn("nokind", 1)

    handlers: dict[str, Any] = {"spawn": spawning, "spawn_now": at_once, "thread": in_a_thread, "batch": together}
    # A table that calls its base class busy does not make it worth another try.
    app.task("k", batch=1 + (how == "batch"), errors={LookupError: "transient"})(handlers[how])  # type: ignore[dict-item]
    begun = await client.submit("k")
    await drain(app, client)
    history = await client.history(begun.id)
    assert history is not None
    assert history.task.state is TaskState.FAILED
    assert len(history.attempts) == len(calls) == 1
    error = str(history.attempts[0].error)
    assert "no kind 'nokind' is registered (registered: k)" in error
