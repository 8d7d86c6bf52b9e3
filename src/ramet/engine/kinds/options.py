"""Options of a kind: how its handler is called, what its tasks share, and their paths."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, TypedDict, Unpack

from ramet.model.flow.resources import NAME_LENGTH_MAX, ResourcePolicy
from ramet.model.keys import text_key
from ramet.model.lineage.branches import Budget
from ramet.model.paths import ON_DEPENDENCY_FAILURE, SCOPES, InvalidPath, PathElements, PathRule, path_of
from ramet.model.task.retry import Retry
from ramet.model.task.task import EDGES_MAX, After
from ramet.model.values import check_name, check_text

BATCH_MAX = 1_000
BATCH_SECONDS = 0.05


LOG_LINES_MAX = 1_000
"""Log lines of one attempt that a kind may have kept."""


@dataclass(frozen=True, slots=True)
class Execution:
    """Options of ``@app.task`` that say how a handler is called."""

    process: bool = False
    """True to run it in a process that runs nothing else meanwhile and can be killed alone."""
    memory_bytes_max: int | None = None
    """Address space that one call may take beyond what its process has."""
    batch: int = 1
    """Most tasks in one call."""
    batch_seconds: float = BATCH_SECONDS
    """Seconds for which the first of them waits for others."""
    probation: bool = True
    """False: after a loss it runs among the others all the same."""
    pulled: bool = False
    """No worker claims it; invocations and programs that pull do."""
    log_lines: int = 0
    """Number of the last log lines of each attempt that are kept with it."""

    def checked(self, kind: str) -> Execution:
        """Itself.

        Raises:
            ValueError: an option is not one of its values; the message says what to give.
        """
        if self.pulled and (self.process or self.batch > 1):
            raise ValueError(f"kind {kind!r}: pulled=True runs one task at a time beside its invocation: leave out "
                             "process, memory_bytes_max and batch")  # fmt: skip
        if not 0 <= self.log_lines <= LOG_LINES_MAX:
            raise ValueError(f"kind {kind!r}: log_lines is {self.log_lines}, give 0 to {LOG_LINES_MAX}")
        if not 1 <= self.batch <= BATCH_MAX:
            raise ValueError(f"kind {kind!r}: batch is {self.batch}, give 1 to {BATCH_MAX}")
        if not 0 <= self.batch_seconds <= 3_600:
            raise ValueError(f"kind {kind!r}: batch_seconds is {self.batch_seconds}, give 0 to 3600")
        if self.memory_bytes_max is not None and not self.process:
            raise ValueError(f"kind {kind!r}: memory_bytes_max needs process=True, others share their process")
        if self.memory_bytes_max is not None and self.memory_bytes_max < 1:
            raise ValueError(f"kind {kind!r}: memory_bytes_max is {self.memory_bytes_max}, give at least 1")
        return self


IN_COMPANY = Execution()


@contextlib.contextmanager
def memory_limit(more_bytes: int | None) -> Iterator[None]:
    """While this lasts, the process gets so much address space more and not beyond; asking for it is a MemoryError."""
    if more_bytes is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _address_space() + more_bytes
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    """Return the address space that this process has already, where the system gives it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return 0
    return pages * resource.getpagesize()


ResourceOf = Callable[[Any], str | None]


class Sharing(NamedTuple):
    """Declaration of a kind about the company of its tasks."""

    concurrency: int | None = None
    """Claims at once over all workers; None for no limit."""
    resource: str | ResourceOf | None = None
    """A host, a provider: as a name, or from the payload."""

    def checked(self, kind: str) -> Self:
        """Return the declaration itself, checked.

        Raises:
            ValueError: an option of this kind is out of range.
        """
        at_least_one(f"kind {kind!r}", self.concurrency)
        return self

    def resource_of(self, kind: str, payload: Any) -> str | None:
        """Return the resource of a task with this payload.

        Raises:
            ValueError: its name is empty or too long.
        """
        name = self.resource(payload) if callable(self.resource) else self.resource
        if name is not None and not 0 < len(check_text("the resource", name)) <= NAME_LENGTH_MAX:
            raise ValueError(
                f"resource {name[:50]!r} of kind {kind!r}: give a name of 1 to {NAME_LENGTH_MAX} characters"
            )
        return name


ALONE = Sharing()


def at_least_one(what: str, concurrency: int | None) -> int | None:
    """Return a limit of concurrency, if it is one.

    Raises:
        ValueError: it is less than 1.
    """
    if concurrency is not None and concurrency < 1:
        raise ValueError(f"{what}: concurrency is {concurrency}, give at least 1; pause it to run nothing")
    return concurrency


def checked_policy(policy: ResourcePolicy) -> ResourcePolicy:
    """Return a policy, if its numbers make sense.

    Raises:
        ValueError: with what to give instead.
    """
    what = f"resource {policy.pattern!r}"
    check_text("the name of a resource", policy.pattern, characters_max=NAME_LENGTH_MAX)
    if not policy.pattern or "*" in policy.pattern[:-1]:
        raise ValueError(f"{what} is not a valid pattern: give a name, or a prefix followed by one *")
    at_least_one(what, policy.concurrency)
    if policy.rate_per_second is not None and not 0 < policy.rate_per_second < float("inf"):
        raise ValueError(f"{what}: rate_per_second is {policy.rate_per_second}, give a number above 0")
    if not 1 <= policy.burst < float("inf"):
        raise ValueError(f"{what}: burst is {policy.burst}, give at least 1")
    if policy.breaker_failures < 0:
        raise ValueError(f"{what}: breaker_failures is {policy.breaker_failures}, give 0 for none or more")
    if policy.cooldown_seconds is not None and not 0 < policy.cooldown_seconds < float("inf"):
        raise ValueError(f"{what}: cooldown_seconds is {policy.cooldown_seconds}, give a number above 0")
    return policy


PathOf = Callable[[Any], Sequence[str] | None]


class PathArguments(TypedDict, total=False):
    """Place of a task in line (DESIGN §7), for everything that submits or spawns.

    Of two tasks of a queue of which one's path is a prefix of the other's, or equal to it, the one that took its place
    later waits for the end of the other. An invalid path is refused with an ``InvalidPath`` that names the element.
    """

    path: Sequence[str] | None
    """Path of at most 32 texts of at most 1,024 bytes each. Empty for none; left out (or None), what the kind's
    ``path`` gives for the payload.
    """
    document_id: str | None
    """``document_id=x`` is ``path=[x]``. Not together with ``path``."""
    reserve_path: bool
    """True takes the place in line now, although the task is delayed; else it is taken when the task is due."""
    path_scope: str | None
    """``queue`` or ``lineage``, instead of the kind's (:meth:`ramet.App.task`)."""
    on_dependency_failure: str | None
    """``skip`` or ``run``, instead of the kind's (:meth:`ramet.App.task`)."""


_NAMES = frozenset(PathArguments.__annotations__)


class SpawnHandle(NamedTuple):
    """A spawn that was asked for, to be named in ``after=`` of a later one."""

    kind: str
    key: str


class Named(Protocol):
    """An answer that names a task by its id."""

    @property
    def id(self) -> str:
        """The task's id."""
        ...


Dependency = str | tuple[str, str] | SpawnHandle | Named
"""A task of the same lineage: its id, its kind and key, what ``ctx.spawn`` returned, or an answer with its id."""


class TaskArguments(PathArguments, total=False):
    """Arguments of every submit and spawn beside its kind, payload and times."""

    tags: Sequence[str]
    """Tags by which it is listed, at most 10 texts of at most 64 characters each; a lineage has the tags of its
    roots.
    """


class RootOptions(TaskArguments, total=False):
    """Options of a submit for a root besides its kind and payload."""

    key: str | None
    queue: str | None
    priority: int | None
    delay_seconds: float
    task_seconds: float | None
    budget: Budget | None
    """A part of the lineage for the task and what grows below it (:class:`ramet.Budget`)."""
    max_attempts: int | None
    """Fewer attempts than its kind's; left out (or None), the kind's."""
    retry: Retry | None
    """Retry policy of this task, instead of its kind's; its ``attempts`` are ``max_attempts``."""
    payload_version: int | None
    """Version of a payload for a kind that this program knows by name only; left out, 1. See
    :meth:`ramet.App.upgrade`.
    """


class TaskOptions(RootOptions, total=False):
    """Options of one item of :meth:`ramet.Client.submit_many` besides its kind and payload."""

    after: Iterable[Dependency]
    """Tasks of the same lineage that have to end first (:meth:`ramet.Context.spawn`)."""


class PathOptions(NamedTuple):
    """Declaration of a kind about the paths of its tasks."""

    path: PathOf | None = None
    """Function from the payload to the path of a task that is given none."""
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
        """Return the rule of a task with this payload; None for a task that nothing constrains.

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

    def after(self, after: Iterable[Dependency], **given: Unpack[PathArguments]) -> After | None:
        """Return what a new task comes after; None where it comes after none.

        Raises:
            ValueError: one of them is not named in one of the possible ways, or there are too many.
        """
        on = tuple(dict.fromkeys(map(_dependency, _listed(after))))
        if len(on) > EDGES_MAX:
            raise ValueError(f"a task is to come after {len(on):,} others: {EDGES_MAX:,} are the limit")
        if on and given.get("reserve_path"):
            raise InvalidPath("reserve_path goes not with after: a task that waits for others holds no path")
        failure = given.get("on_dependency_failure") or self.on_dependency_failure
        return After(on, _one_of("on_dependency_failure", failure, ON_DEPENDENCY_FAILURE) == "skip") if on else None


PLAIN = PathOptions()


def _listed(after: Iterable[Dependency]) -> Iterable[Dependency]:
    if isinstance(after, str | SpawnHandle) or hasattr(after, "id"):
        raise ValueError(f"after={after!r}: give a list of tasks, after=[...]")
    return after


def _dependency(named: object) -> tuple[str, ...]:
    task_id = getattr(named, "id", named)
    if isinstance(task_id, str) and task_id:
        return (check_text("a task id of after", task_id),)
    if isinstance(named, tuple) and len(named) == 2 and all(isinstance(part, str) for part in named):
        return (check_name("a kind of after", named[0]), text_key(named[1]))
    raise ValueError(f"after has {named!r}: give a task id, (kind, key), what ctx.spawn returned, or a submit's answer")


def _elements(path: Sequence[str] | None, document_id: str | None) -> PathElements | None:
    """Return the given path, whichever of both ways was used; None where none was given."""
    if document_id is None:
        return None if path is None else path_of(path)
    if path is not None:
        raise InvalidPath("path and document_id are both given: leave one out, document_id=x is path=[x]")
    return path_of([document_id])


def _one_of(name: str, value: str, values: Sequence[str]) -> str:
    if value not in values:
        raise InvalidPath(f"{name} is {value!r}, give {' or '.join(map(repr, values))}")
    return value
