"""Kinds: which handler runs which task, and what a task of that kind is made with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from ramet.engine.base.clock import new_id
from ramet.engine.base.events import Listeners
from ramet.engine.base.json_text import json_text
from ramet.engine.base.work import Work
from ramet.engine.kinds.options import (
    ALONE,
    IN_COMPANY,
    PLAIN,
    Dependency,
    Execution,
    PathArguments,
    PathOptions,
    Sharing,
)
from ramet.engine.kinds.signatures import check_same_fields, is_async, name_of, one_payload, payload_type, result_type
from ramet.engine.settings.declared import DeclaredSettings
from ramet.engine.settings.live import LiveSettings
from ramet.engine.settings.setting import RETRY_SETTING
from ramet.model.keys import InvalidKey, PlaceKey, display_key, json_key, shape_of, text_key, title_key, url_key
from ramet.model.lineage.branches import Budget
from ramet.model.lineage.guard import FOR_GOOD_SECONDS
from ramet.model.lineage.limits import Limits
from ramet.model.paths import PathRule
from ramet.model.task.ordering import BY_DUE
from ramet.model.task.retry import (
    DEFAULT_RETRY,
    ERRORS,
    ErrorTable,
    NewerPayload,
    Retry,
    Waits,
    waits_from_text,
    waits_text,
)
from ramet.model.task.task import After, NewTask
from ramet.model.values import (
    RESERVED_DELAY_SECONDS_MAX,
    SECONDS_LEAST,
    SECONDS_MAX,
    check_name,
    checked_tags,
    seconds,
    whole,
)
from ramet.model.values import priority as checked_priority

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Handler = Callable[..., Any]
KeyOf = Callable[[Any], str]
UrlOf = Callable[[Any], str | None]
Upgrade = Callable[[Any], Any]
LimitsOf = Callable[[Mapping[str, Any]], Limits]
Middleware = Callable[[Any], AbstractAsyncContextManager[Any]]
"""Function from a context to what is entered before the handler is called and left after it."""

QUEUE = "default"


class UnknownKind(LookupError):
    """Raised by submits, spawns and workers: this kind is not registered. Import the module that declares it."""


class StageContext(Protocol):
    """The part of a stage's context from which the task of the next stage is made."""

    _work: Work

    @property
    def key(self) -> str:
        """Return the task's canonical key."""
        ...

    @property
    def path_rule(self) -> PathRule | None:
        """Return the place in line that the next stage takes over."""
        ...

    @property
    def state(self) -> dict[str, Any]:
        """Return the pipeline_state of the last checkpoint."""
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """A registered kind."""

    name: str
    declared: Limits
    """Limits as code declared them."""
    handler: Handler | None = None
    """None for a kind that this program only submits."""
    payload: TypeAdapter[Any] | None = None
    """None when the handler takes no payload."""
    is_async: bool = False
    key: KeyOf | None = None
    queue: str = QUEUE
    priority: int = 0
    cycle_on: str | None = None
    """``key`` or ``kind+key``; None: as the key of each task says (:meth:`cycle_rule`)."""
    errors: ErrorTable = field(default_factory=dict)
    declared_retry: Retry = DEFAULT_RETRY
    """Retry policy as code declared it; its attempts are among the limits."""
    breadth: frozenset[str] = frozenset()
    """Queues of the app in which a smaller depth goes before priority and age."""
    unique_seconds: float | None = None
    """Seconds for which a key stays held after a good end, for ``unique="global"``."""
    trap: bool = False
    url: UrlOf | None = None
    how: Execution = IN_COMPANY
    sharing: Sharing = ALONE
    paths: PathOptions = PLAIN
    on_end: Handler | None = None
    """Runs once when a limit or a person ends a task of this kind."""
    live: LiveSettings = field(default_factory=LiveSettings)
    lineage: LimitsOf | None = None
    """Name in the stored settings of the limits of lineages whose root is of this kind; None: as declared."""
    version: int = 1
    """Version of its payload."""
    upgrades: dict[int, Upgrade] = field(default_factory=dict)
    """Upgrades by the version that each leads on from; one dictionary for all stages, filled after their handlers."""
    result: TypeAdapter[Any] | None = None
    """Type of what its handler returns; None where that is not annotated with a type that can be read back."""

    @property
    def root_limits(self) -> Limits:
        """Limits that code declares for lineages whose root is of this kind, before the settings of limits."""
        return self.declared if self.lineage is None else self.lineage(self.live.stored)

    def end_task(self) -> NewTask:
        """Return the task of this kind that a lineage's end will make; its payload and key come with the end.

        Raises:
            ValueError: it has a task per stage.
        """
        bare = replace(self, payload=None, key=None, trap=False, unique_seconds=None, url=None, paths=PLAIN)
        return bare.new_task({}, key="end")

    def check_claimable(self) -> None:
        """Whether tasks of this very kind can be there.

        Raises:
            ValueError: it has a task per stage, so only its stages have tasks.
        """

    def next_stage(self, ctx: StageContext, value: Any) -> list[NewTask]:
        """Return the task that follows when a task of this kind ends with this value: of stages, the next."""
        return []

    def at_end(self) -> Kind | None:
        """Return this kind as its ``on_end`` handler runs it, one call limit long; None without such a handler."""
        if self.on_end is None:
            return None
        payload = payload_type(self.on_end)
        limits = replace(self.limits, invocation_seconds=self.limits.call_seconds)
        live = LiveSettings()  # what follows from the settings is in these limits already
        return replace(self, handler=self.on_end, is_async=is_async(self.on_end), payload=payload,
                       declared=limits, live=live)  # fmt: skip

    @property
    def limits(self) -> Limits:
        """The limits in force: those declared, under the stored settings as last read."""
        return self.live.limits(self.declared)

    @property
    def retry(self) -> Retry:
        """The policy in force: the one declared, with what the setting ``retry.kinds`` says of all kinds and this."""
        stored = self.live.stored.get(RETRY_SETTING)
        if not stored:
            return self.declared_retry
        return replace(self.declared_retry, **{**stored.get("*", {}), **stored.get(self.name, {})})

    def waits_of(self, work: Work) -> Waits:
        """Return the back-off of a task: its own, or that of the policy in force."""
        return self.retry.waits if work.retry is None else waits_from_text(work.retry)

    def read(self, work: Work) -> Any:
        """Return the payload of a claimed task, as this program's handler takes it.

        One that an older program wrote goes through the upgrades from its version on.

        Raises:
            NewerPayload: a newer program wrote it.
            pydantic.ValidationError: it does not fit the handler's type.
        """
        assert self.payload is not None
        version = work.payload_version or 1
        if version == self.version:
            return self.payload.validator.validate_json(work.payload)
        if version > self.version:
            raise NewerPayload(
                f"the payload of {self.name} is of version {version}, this program reads {self.version}: "
                "a worker of that version takes it"
            )
        from pydantic_core import from_json, to_json

        value = from_json(work.payload)
        for step in range(version, self.version):
            value = self.upgrades[step](value)
        return self.payload.validate_json(to_json(value))

    def check_upgrades(self) -> None:
        """Whether payloads of all earlier versions can be read.

        Raises:
            ValueError: a step is missing.
        """
        missing = [step for step in range(1, self.version) if step not in self.upgrades]
        if missing:
            raise ValueError(
                f"kind {self.name!r} is of version {self.version} and cannot read version {missing[0]}: register "
                f"@app.upgrade({self.name!r}, from_version={missing[0]})"
            )

    def read_result(self, value: Any) -> Any:
        """Return the result of a task as the type that the handler is annotated with; as it is where there is none."""
        from pydantic_core import to_json

        return value if self.result is None else self.result.validate_json(to_json(value))

    def error_table(self) -> ErrorTable:
        """Return the engine's error classes with this kind's own on top."""
        return {**ERRORS, **self.errors} if self.errors else ERRORS

    def _json(self, typed: Any) -> str:
        if typed is None and self.payload is None:
            return "null"
        return json_text(f"the payload of {self.name}", typed, self.limits.payload_bytes_max, self.payload)

    def _key(self, typed: Any, text: str) -> str:
        """Return the key of a task that is submitted without one."""
        if self.key is not None:
            return text_key(self.key(typed))
        from pydantic_core import from_json

        value = from_json(text)
        return self.name if value is None else json_key(value if isinstance(value, dict) else {"payload": value})

    def cycle_rule(self, key: str) -> str:
        """Return which ancestors a task with this key may not have (promise I3): ``key`` where it names a place."""
        if self.cycle_on is not None:
            return self.cycle_on
        return "key" if isinstance(key, PlaceKey) or self.key in (url_key, title_key) else "kind+key"

    def key_of(self, payload: Any) -> str:
        """Return the key of a task with this payload that is submitted or spawned without one.

        Raises:
            pydantic.ValidationError, PayloadTooLarge, InvalidKey: there is no such task.
        """
        typed = payload if self.payload is None else self.payload.validate_python(payload)
        return self._key(typed, self._json(typed))

    def _url_of(self, typed: Any) -> str | None:
        """Return the URL that is compared with the deny list; None where the payload has none."""
        given = self.url(typed) if self.url is not None else None
        try:
            return url_key(given) if given else None
        except InvalidKey:
            return None

    def new_task(
        self,
        payload: Any = None,
        *,
        key: str | None = None,
        queue: str | None = None,
        priority: int | None = None,
        delay_seconds: float = 0.0,
        keep_edge: bool = False,
        task_seconds: float | None = None,
        required: bool = False,
        after: Iterable[Dependency] = (),
        budget: Budget | None = None,
        max_attempts: int | None = None,
        retry: Retry | None = None,
        payload_version: int | None = None,
        tags: Sequence[str] = (),
        **path: Unpack[PathArguments],
    ) -> NewTask:
        """Return a task of this kind, ready to be submitted or spawned; options as of :meth:`ramet.Context.spawn`.

        Raises:
            pydantic.ValidationError: the payload does not fit the handler's type.
            PayloadTooLarge: it is over ``payload_bytes_max``.
            InvalidText: it is not valid JSON, or the queue's name cannot be one.
            ValueError: a number is out of range, or ``after`` names a task in no possible way, or the task itself.
        """
        # Of a model that is one already nothing is validated: the adapter's own verb would be most of it.
        typed = payload if self.payload is None else self.payload.validator.validate_python(payload)
        text = self._json(typed)
        key = self._key(typed, text) if key is None else text_key(key)
        limits = self.limits
        queue = check_name("the queue", queue) if queue else self.queue
        return NewTask(
            id=new_id(),
            kind=self.name,
            key=str(key),
            payload=text,
            queue=queue,
            priority=self.priority if priority is None else checked_priority("priority", priority),
            delay_seconds=seconds("delay_seconds", delay_seconds, most=_delay_max(path)),
            max_attempts=_fewer(self.retry.attempts or limits.max_attempts, max_attempts, retry),
            task_seconds=_stricter(limits.task_seconds, task_seconds),
            max_chain_depth=limits.max_chain_depth,
            cycle_on=self.cycle_rule(key),
            on_end=int(self.on_end is not None),
            breadth=BY_DUE if self.how.pulled else int(queue in self.breadth),
            resource=self.sharing.resource_of(self.name, typed),
            unique_seconds=self.unique_seconds,
            shape=shape_of(key) if self.trap else None,
            url=self._url_of(typed),
            keep_edge=int(keep_edge),
            path=self.paths.rule(typed, **path) if path or self.paths.path is not None else None,
            required=int(required),
            after=self._after(str(key), after, path) if after else None,
            budget=None if budget is None else budget.checked(),
            payload_version=_later(self.version, payload_version),
            retry=None if retry is None else waits_text(retry.waits),
            tags=json.dumps(checked_tags(tags)) if tags else None,
        )

    def _after(self, key: str, after: Iterable[Dependency], path: PathArguments) -> After | None:
        rule = self.paths.after(after, **path)
        if rule is not None and (self.name, key) in rule.on:
            raise ValueError(f"{self.name} {display_key(key)!r} comes after itself: take it out of after")
        return rule


def _delay_max(path: PathArguments) -> float:
    """Return the longest delay of a task with a path: a reserved place holds others back while its task waits."""
    return RESERVED_DELAY_SECONDS_MAX if path.get("reserve_path") else SECONDS_MAX


def _fewer(declared: int | None, given: int | None, retry: Retry | None) -> int | None:
    """Return the attempts of a task whose submit may lower its kind's."""
    if given is None:
        given = None if retry is None else retry.attempts
    if given is None:
        return declared
    wanted = whole("max_attempts", given, least=1)
    return wanted if declared is None else min(declared, wanted)


def _later(declared: int, given: int | None) -> int | None:
    """Return the version of a payload as it is stored: None for the first."""
    version = declared if given is None else whole("payload_version", given, least=1)
    return None if version == 1 else version


def _stricter(declared: float | None, given: float | None) -> float | None:
    if given is None:
        return declared
    wanted = seconds("task_seconds", given, least=SECONDS_LEAST)
    return wanted if declared is None else min(declared, wanted)


class Registry:
    """The kinds of an app."""

    def __init__(
        self,
        limits: Limits,
        breadth: frozenset[str] = frozenset(),
        settings: DeclaredSettings | None = None,
        retry: Retry = DEFAULT_RETRY,
    ) -> None:
        self._limits, self._retry = with_attempts(limits, retry)
        self._breadth = breadth
        self.live = LiveSettings(settings)
        """The stored settings as last read. An app works on one database at a time."""
        self.middleware: list[Middleware] = []
        """Around each call of a handler, the first one outermost."""
        self.listeners = Listeners()
        self._kinds: dict[str, Kind] = {}
        self._by_handler: dict[Handler, Kind] = {}
        self._upgrades: dict[str, dict[int, Upgrade]] = {}
        """Upgrades by kind, for all stages of one with a task per stage."""
        self._staged: set[str] = set()
        """Base kinds of a task per stage; ``base.name`` belongs to their stages."""
        self._stages: set[str] = set()

    def add(
        self,
        name: str,
        handler: Handler,
        *,
        key: KeyOf | None,
        queue: str,
        priority: int,
        limits: Limits | None,
        cycle_on: str | None,
        errors: ErrorTable | None,
        retry: Retry | None = None,
        unique: str = "lineage",
        unique_seconds: float | None = None,
        trap: bool = False,
        url: UrlOf | None = None,
        how: Execution = IN_COMPANY,
        sharing: Sharing = ALONE,
        paths: PathOptions = PLAIN,
        lineage: LimitsOf | None = None,
        version: int = 1,
    ) -> Kind:
        """Register a handler.

        Raises:
            ValueError: the name or an option is not possible, or the function cannot be a handler.
        """
        self._check_name(name)
        if cycle_on not in (None, "key", "kind+key"):
            raise ValueError(f"kind {name!r}: cycle_on is {cycle_on!r}, give 'key', 'kind+key' or nothing")
        declared = limits or self._limits
        declared, policy = (declared, self._retry) if retry is None else with_attempts(declared, retry)
        called = one_payload(handler, many=how.batch > 1)
        kind = Kind(
            name=name,
            handler=called,
            payload=payload_type(called, many=how.batch > 1),
            is_async=is_async(handler),
            key=key,
            queue=queue,
            priority=checked_priority(f"the priority of kind {name!r}", priority),
            declared=declared,
            cycle_on=cycle_on,
            errors=errors or {},
            declared_retry=policy,
            breadth=self._breadth,
            unique_seconds=_unique_seconds(name, unique, unique_seconds),
            trap=trap,
            url=url,
            how=how.checked(name),
            sharing=sharing.checked(name),
            paths=paths.checked(name),
            live=self.live,
            lineage=lineage,
            version=whole(f"the version of kind {name!r}", version, least=1),
            upgrades=self._upgrades.setdefault(self._base(name), {}),
            result=result_type(handler, many=how.batch > 1),
        )
        self._kinds[name] = self._by_handler[handler] = self._by_handler[called] = kind
        return kind

    def _check_name(self, name: str) -> None:
        check_name("the kind", name)
        if name in self._kinds:
            raise ValueError(f"kind {name!r} is registered twice: give one of the handlers another name")
        base = name.rpartition(".")[0]
        if name in self._staged or (base in self._staged and name not in self._stages):
            raise ValueError(f"kind {name!r} reads like a stage of {base or name!r}: give it another name")

    def reserve_stages(self, base: str) -> None:
        """From now on ``base.name`` is the kind of a stage, and of nothing else.

        Raises:
            ValueError: a kind has such a name, or the base kind's, already.
        """
        taken = [name for name in self._kinds if name == base or name.startswith(f"{base}.")]
        if taken or base in self._staged:
            raise ValueError(f"kind {(taken or [base])[0]!r} is registered: give the pipeline another name")
        self._staged.add(base)

    def expect_stage(self, name: str) -> None:
        """Expect that a pipeline is about to register this kind."""
        self._stages.add(name)

    def put_stage(self, kind: Kind) -> None:
        """Put a kind that a pipeline made in the place of the ordinary one of its name."""
        self._kinds[kind.name] = kind
        if kind.handler is not None:
            self._by_handler[kind.handler] = kind

    def set_on_end(self, kind: str | Handler, handler: Handler) -> None:
        """Give a registered kind its ``on_end`` handler; tasks created from now on have it.

        Raises:
            UnknownKind: the kind is not registered.
            ValueError: it has one already.
        """
        found = self.get(kind)
        if found.on_end is not None:
            raise ValueError(f"kind {found.name!r} has two on_end handlers: leave one of them out")
        called = one_payload(handler)
        payload_type(called)
        if found.handler is not None:
            check_same_fields("the on_end handler", found.handler, called)
        self._kinds[found.name] = changed = replace(found, on_end=called)
        for function in [function for function, kind in self._by_handler.items() if kind is found]:
            self._by_handler[function] = changed

    def _base(self, name: str) -> str:
        """Return the kind whose stage this is; itself for any other."""
        base = name.rpartition(".")[0]
        return base if base in self._staged else name

    def add_upgrade(self, kind: str | Handler, from_version: int, upgrade: Upgrade) -> None:
        """Register how a payload of a version becomes one of the next.

        Raises:
            UnknownKind: no such kind is registered.
            ValueError: the kind has no later version, or the step is registered already.
        """
        found = self.get(kind)
        if found.version == 1:
            raise ValueError(f"kind {found.name!r} is of version 1: register it with version=2 and then its upgrade")
        if not 1 <= from_version < found.version:
            known = f"kind {found.name!r} is of version {found.version}"
            raise ValueError(f"{known}: from_version is {from_version}, give 1 to {found.version - 1}")
        if from_version in found.upgrades:
            raise ValueError(f"kind {found.name!r} has two upgrades from version {from_version}: leave one of them out")
        found.upgrades[from_version] = upgrade

    def __contains__(self, kind: str | Handler) -> bool:
        return kind in (self._kinds if isinstance(kind, str) else self._by_handler)

    def get(self, kind: str | Handler) -> Kind:
        """Return the kind of this name or handler.

        Raises:
            UnknownKind: with the names that exist.
        """
        found = self._kinds.get(kind) if isinstance(kind, str) else self._by_handler.get(kind)
        if found is None:
            name = kind if isinstance(kind, str) else name_of(kind)
            known = ", ".join(sorted(self._kinds)) or "none"
            raise UnknownKind(f"no kind {name!r} is registered (registered: {known})")
        return found

    def known(self, kind: str | Handler) -> Kind:
        """Return the kind, as :meth:`get` does; a name that is not registered gets the app's defaults: for submitting
        from elsewhere.

        Raises:
            InvalidText: it cannot be the name of a kind.
        """
        if isinstance(kind, str) and kind not in self._kinds:
            return Kind(
                name=check_name("the kind", kind),
                declared=self._limits,
                declared_retry=self._retry,
                breadth=self._breadth,
                live=self.live,
            )
        return self.get(kind)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """All kinds, by name."""
        return tuple(self._kinds[name] for name in sorted(self._kinds))

    def served(self, names: Sequence[str] | None) -> Sequence[Kind]:
        """Return these kinds, or all.

        Raises:
            ValueError: there are none.
        """
        served = self.kinds if names is None else [self.get(name) for name in names]
        if not served:
            raise ValueError("the app has no kinds: register a handler with @app.task(...)")
        for kind in served:
            kind.check_upgrades()
        return served


def with_attempts(limits: Limits, retry: Retry) -> tuple[Limits, Retry]:
    """Return the limits with the attempts of a policy, which are a limit like any other: settings and presets may make
    it stricter.
    """
    if retry.attempts is None:
        return limits, retry
    return replace(limits, max_attempts=retry.attempts), replace(retry, attempts=None)


def _unique_seconds(name: str, unique: str, seconds: float | None) -> float | None:
    """Return the freshness window of a kind; None for one whose keys count in their own lineage only."""
    if unique not in ("lineage", "global"):
        raise ValueError(f"kind {name!r}: unique is {unique!r}, give 'lineage' or 'global'")
    if seconds is None:
        return FOR_GOOD_SECONDS if unique == "global" else None
    if unique != "global":
        raise ValueError(f"kind {name!r}: unique_seconds goes with unique='global'")
    if not 0 <= seconds <= FOR_GOOD_SECONDS:
        raise ValueError(f"kind {name!r}: unique_seconds is {seconds}, give 0 or more, or leave it out for good")
    return float(seconds)
