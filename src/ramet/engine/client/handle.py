"""Handles of submitted tasks: the task, and a wait for its result with the type that its handler returns."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Generic, Protocol, Self, TypeVar, overload

from ramet.engine.base.forwarding import WaitFor
from ramet.engine.client.new_lineage import LimitsGiven
from ramet.engine.kinds.options import RootOptions
from ramet.engine.kinds.registry import Handler, Kind
from ramet.store.answers import SubmitResult

Returned = TypeVar("Returned")
Returned_co = TypeVar("Returned_co", covariant=True)
Result = TypeVar("Result")


class Returns(Protocol[Returned_co]):
    """A handle of a handler whose call gives this: by a method, because checkers see no parameters of a named tuple."""

    def _returned(self, value: Any) -> Returned_co: ...


class SubmitOptions(RootOptions, total=False):
    """Options of :meth:`ramet.Client.submit`, which explains each."""

    tracking_id: str | None
    limits: LimitsGiven | None
    may_raise: bool
    connection: Any
    on_lineage_end: str | Handler | None


class AsksForResults(Protocol):
    """The part of a client that a handle uses."""

    async def result(self, task_id: str, *, timeout_seconds: float | None = None) -> Any:
        """Wait for a task and return its result as JSON values."""
        ...


class BaseHandle(SubmitResult, Generic[Returned]):
    """Base of both handles: the fields of a :class:`ramet.SubmitResult`, and where to ask."""

    _client: AsksForResults
    _kind: Kind

    @classmethod
    def of(cls, answer: SubmitResult, client: AsksForResults, kind: Kind) -> Self:
        """Return the handle of an answer."""
        handle = cls(*answer)
        handle._client, handle._kind = client, kind
        return handle

    def _returned(self, value: Any) -> Returned:
        """Return the stored result as the handler gave it."""
        returned: Returned = self._kind.read_result(value)
        return returned

    async def _result(self, timeout_seconds: float | None) -> Any:
        return self._returned(await self._client.result(self.id, timeout_seconds=timeout_seconds))


class TaskHandle(BaseHandle[Returned]):
    """A submitted task: what :class:`ramet.SubmitResult` says of it, and :meth:`result`."""

    @overload
    async def result(self: Returns[Coroutine[Any, Any, Result]], *, timeout_seconds: float | None = None) -> Result: ...
    @overload
    async def result(self: Returns[Result], *, timeout_seconds: float | None = None) -> Result: ...
    async def result(self: Any, *, timeout_seconds: float | None = None) -> Any:
        """Wait for the task and return what its handler returned, as the type that the handler is annotated with.

        The database has JSON: of a handler without such a type, or of a kind that this program knows by name only, the
        result consists of JSON values.

        Raises:
            TaskFailed: it ended in another state than success.
            WaitRefused: a handler waits for what cannot end before its own task does.
            TimeoutError: it is still live after ``timeout_seconds``.
            pydantic.ValidationError: another version of the handler returned something that does not fit.
        """
        return await self._result(timeout_seconds)


class SyncTaskHandle(BaseHandle[Returned]):
    """:class:`ramet.TaskHandle` without ``await``."""

    _wait_for: WaitFor

    @classmethod
    def waiting(cls, handle: BaseHandle[Returned], wait_for: WaitFor) -> Self:
        """Return the handle that waits in this way."""
        made = cls.of(handle, handle._client, handle._kind)
        made._wait_for = wait_for
        return made

    @overload
    def result(self: Returns[Coroutine[Any, Any, Result]], *, timeout_seconds: float | None = None) -> Result: ...
    @overload
    def result(self: Returns[Result], *, timeout_seconds: float | None = None) -> Result: ...
    def result(self: Any, *, timeout_seconds: float | None = None) -> Any:
        """See :meth:`ramet.TaskHandle.result`."""
        return self._wait_for(self._result(timeout_seconds))
