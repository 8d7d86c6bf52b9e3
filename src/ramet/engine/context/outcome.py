"""Ends of work under a claim: values made by the context, and the one place that turns an end into an event.

``return ctx.snooze(60)`` reads as what it is, and type checkers see that nothing runs after it. Workers and the pull
API both come here with what a handler returned or raised.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

from ramet.engine.base.error_text import describe_error, redacted, reported_traceback, traceback_of
from ramet.engine.base.json_text import PayloadTooLarge
from ramet.engine.context.money import CostRefused
from ramet.engine.kinds.registry import UnknownKind
from ramet.engine.kinds.signatures import NoResult
from ramet.model.flow.resources import NAME_LENGTH_MAX
from ramet.model.keys import InvalidKey
from ramet.model.paths import ON_DEPENDENCY_FAILURE, InvalidPath
from ramet.model.reasons import Reason
from ramet.model.task import events as ev
from ramet.model.task.retry import (
    DEFAULT_WAITS,
    ERRORS,
    ErrorClass,
    ErrorTable,
    NewerPayload,
    RetryAfter,
    Waits,
    classify,
    fingerprint,
)
from ramet.model.values import REASON_CHARACTERS_MAX, InvalidNumber, InvalidText, seconds_from_now, storable
from ramet.store.errors import StoreUncertain, StoreUnreachable

OnDependencyFailure = Literal["run", "skip"]

ERROR_CHARACTERS_MAX = REASON_CHARACTERS_MAX
NEVER_FITS = (PayloadTooLarge, InvalidNumber, InvalidText, InvalidKey, InvalidPath)
"""Errors of a request that cannot be stored, now or later: invalid input (DESIGN §6), unless an app's table says
otherwise.

pydantic's ValidationError counts as well; it is imported late.
"""

_EVENTS = frozenset({"filter", "skip", "fail", "snooze", "join", "continue"})


@dataclass(frozen=True, slots=True)
class Outcome(NoResult):
    """An end other than a result. Handlers make it with their context's methods, pullers with the ones here."""

    event: str
    """``filter``, ``skip``, ``fail``, ``snooze``, ``join`` or ``continue``."""
    reason: str | None = None
    seconds: float = 0.0
    branch: bool = False
    """True for a join that waits for all that grows below, too."""
    skip_on_failure: bool = False
    """True for a join whose task is skipped where one of them does not succeed."""
    uses_time: bool = True
    """True when a snooze counts in the task's own time."""

    def __post_init__(self) -> None:
        # Here it is the handler's error; later it would be one of the worker.
        if self.reason is not None and not isinstance(self.reason, str):
            raise TypeError(f"the reason is a {type(self.reason).__name__}: give text")
        if self.event not in _EVENTS:
            raise ValueError(f"there is no outcome {self.event!r}: use the methods of this class")
        object.__setattr__(self, "seconds", seconds_from_now("the seconds of a snooze", self.seconds))

    @classmethod
    def filter(cls, reason: str) -> Outcome:
        """End as *filtered*: what the task is about was rejected."""
        return cls("filter", reason)

    @classmethod
    def skip(cls, reason: str) -> Outcome:
        """End as *skipped*: the work need not be done."""
        return cls("skip", reason)

    @classmethod
    def fail(cls, reason: str) -> Outcome:
        """End as *failed* at once, keeping what was buffered."""
        return cls("fail", reason)

    @classmethod
    def snooze(cls, seconds: float, reason: str | None = None, *, uses_time: bool = True) -> Outcome:
        """Return to pending for this number of seconds (at least 1); the attempt is given back.

        Args:
            seconds: how long.
            reason: why, for people.
            uses_time: False where the task's own time (``task_seconds``) does not run meanwhile, since it waits for
                something else to have room: a rate, a server. Its lineage's deadline bounds it.
        """
        return cls("snooze", reason, seconds, uses_time=uses_time)

    @classmethod
    def join(cls, *, branch: bool = False, on_dependency_failure: OnDependencyFailure = "run") -> Outcome:
        """Wait for this task's own children and run again, see :meth:`Endings.join`."""
        if on_dependency_failure not in ON_DEPENDENCY_FAILURE:
            either = " or ".join(map(repr, sorted(ON_DEPENDENCY_FAILURE)))
            raise ValueError(f"on_dependency_failure is {on_dependency_failure!r}: give {either}")
        return _Join("join", branch=branch, skip_on_failure=on_dependency_failure == "skip")

    @classmethod
    def continue_later(cls) -> Outcome:
        """Run again with fresh attempts: only after progress, and at most ``max_chain_depth`` times."""
        return cls("continue")


class _Join(Outcome):
    """A join, which one is tempted to await."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, Any, NoReturn]:
        raise TypeError(
            "`return ctx.join(...)` instead of awaiting it: the task is called again when its children have ended"
        )


class Endings:
    """The ways in which a handler can end other than by returning its result."""

    def filter(self, reason: str) -> Outcome:
        """End as *filtered*: what this task is about was rejected."""
        return Outcome.filter(reason)

    def skip(self, reason: str) -> Outcome:
        """End as *skipped*: the work need not be done."""
        return Outcome.skip(reason)

    def fail(self, reason: str) -> Outcome:
        """End as *failed* at once, keeping what was buffered."""
        return Outcome.fail(reason)

    def snooze(self, seconds: float, reason: str | None = None, *, uses_time: bool = True) -> Outcome:
        """Return to pending for this number of seconds (at least 1); the attempt is given back. See
        :meth:`Outcome.snooze`.
        """
        return Outcome.snooze(seconds, reason, uses_time=uses_time)

    def join(self, *, branch: bool = False, on_dependency_failure: OnDependencyFailure = "run") -> Outcome:
        """Wait for this task's own children, then run again with ``ctx.joined``; the attempt is given back.

        It waits for every child granted since the task was created, or since its last join, in whatever attempt.
        Meanwhile it holds neither slot nor lease nor path, and its own time does not run. A second join in a row with
        nothing live to wait for ends it as failed, ``no_progress``.

        Args:
            branch: wait for all that grows below those children, too.
            on_dependency_failure: ``skip`` ends this task as skipped as soon as one of them fails, is cancelled, or is
                skipped for such a reason; ``run`` runs it whatever became of them.
        """
        return Outcome.join(branch=branch, on_dependency_failure=on_dependency_failure)

    def continue_later(self) -> Outcome:
        """Run again with fresh attempts: only after progress, and at most ``max_chain_depth`` times."""
        return Outcome.continue_later()


def outcome_event(outcome: Outcome, fence: int) -> ev.Event:
    """Return the event of an end that was chosen."""
    reason = None if outcome.reason is None else storable(outcome.reason, REASON_CHARACTERS_MAX)
    match outcome.event:
        case "filter":
            return ev.Filter(fence, reason or "filtered")
        case "skip":
            return ev.Skip(fence, reason or "skipped")
        case "fail":
            return ev.Fail(fence, reason or "failed")
        case "snooze":
            return ev.Snooze(fence, outcome.seconds, reason, uses_time=outcome.uses_time)
        case "join":
            return ev.Join(fence, outcome.branch, outcome.skip_on_failure)
        case _:
            return ev.Continue(fence, progressed=False)


class ReportedError(Exception):
    """An error of another program, which knows only its name, its words and its class."""

    def __init__(self, name: str, text: str, error_class: ErrorClass, traceback: str | None = None) -> None:
        super().__init__(text)
        self.name, self.text, self.error_class, self.traceback = name, text, error_class, traceback


def error_event(
    error: BaseException,
    fence: int,
    jitter: float,
    table: ErrorTable = ERRORS,
    *,
    handler: Callable[..., Any] | None = None,
    waits: Waits = DEFAULT_WAITS,
) -> ev.Event:
    """Return the event of anything that was raised: a snooze where a server named its time, else an error of its class.

    Guarantee: raises nothing, whatever the object's own code does when it is asked (DESIGN §6). An object that cannot
    be asked is an unclassified error.

    Args:
        error: what was raised.
        fence: of the claim.
        jitter: in [0, 1): the caller's draw for the back-off.
        table: classes of errors, by type.
        handler: which handler raised it: paths in its traceback are relative to its app's folder.
        waits: the back-off of its kind.
    """
    try:
        event = _event_of(error, fence, jitter, table)
    except BaseException as failure:
        name, text = describe_error(error)
        why = f"{text} (what it says about itself cannot be read: {describe_error(failure)})"
        event = named_error_event(name, why.lstrip(), ErrorClass.UNCLASSIFIED, fence, jitter)
    if not isinstance(event, ev.Error):
        return event
    reported = error if type(error) is ReportedError else None  # Without asking an object that may raise.
    trace = traceback_of(error, handler) if reported is None else reported_traceback(reported.traceback)
    return replace(event, traceback=trace, waits=waits)


NEWER_SECONDS = 10.0
"""A task whose payload is of a newer version than this program reads is left for others for so long."""


def _event_of(error: BaseException, fence: int, jitter: float, table: ErrorTable) -> ev.Event:
    if type(error) is ReportedError:
        return named_error_event(redacted(error.name), error.text, error.error_class, fence, jitter)
    name, text = describe_error(error)
    if isinstance(error, RetryAfter):
        resource = storable(str(error.resource), NAME_LENGTH_MAX)
        seconds = seconds_from_now("RetryAfter.seconds", error.seconds)
        return ev.Snooze(fence, seconds, _reason(text), resource, uses_time=False)
    if isinstance(error, NewerPayload):
        return ev.Snooze(fence, NEWER_SECONDS, _reason(text))
    if isinstance(error, CostRefused):
        reason = Reason("cost", **error.facts) if error.facts else _reason(text)
        if error.retry_seconds is None:
            return ev.Fail(fence, reason)
        return ev.Snooze(fence, error.retry_seconds, reason, uses_time=False)
    from pydantic_core import ValidationError

    error_class = classify(error, table)
    if isinstance(error, (ValidationError, *NEVER_FITS)) and error_class is ErrorClass.UNCLASSIFIED:
        error_class = ErrorClass.PERMANENT
    if isinstance(error, UnknownKind):  # A bug of the program, whatever a table says of its base classes.
        error_class = ErrorClass.PERMANENT
    if isinstance(error, (StoreUnreachable, StoreUncertain)) and error_class is ErrorClass.UNCLASSIFIED:
        error_class = ErrorClass.TRANSIENT
    return named_error_event(name, text, error_class, fence, jitter)


def _reason(text: str) -> str:
    return storable(redacted(text), REASON_CHARACTERS_MAX)


def named_error_event(
    name: str,
    text: str,
    error_class: ErrorClass,
    fence: int,
    jitter: float,
    *,
    traceback: str | None = None,
    waits: Waits = DEFAULT_WAITS,
) -> ev.Error:
    """Return the event of an error that is known by name and text.

    Args:
        name: type of the error; part of its fingerprint.
        text: its message; cut at ``ERROR_CHARACTERS_MAX``, without known secrets.
        error_class: what it says about another try.
        fence: of the claim.
        jitter: in [0, 1): the caller's draw for the back-off.
        traceback: where it came from, as :func:`ramet.engine.base.error_text.traceback_of` tells it.
        waits: the back-off of the kind.
    """
    text = redacted(text)
    message = f"{name}: {text}" if text else name
    print_ = fingerprint(name, text)
    message = storable(message, ERROR_CHARACTERS_MAX)
    return ev.Error(fence, message, error_class.value, print_, jitter, traceback=traceback, waits=waits)
