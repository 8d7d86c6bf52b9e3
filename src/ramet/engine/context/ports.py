"""The leaf of the contexts: what each part of a context uses, without the context that is made of these parts."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, Protocol

from ramet.engine.base.clock import Clock
from ramet.engine.base.work import Work
from ramet.engine.kinds.registry import Kind, Registry
from ramet.store.answers import SettleResult
from ramet.store.requests import Settlement


class ClaimLost(Exception):
    """Raised by what a handler asks for when its claim is lost: stop. Nothing it asks for is accepted any more."""


class SupervisorPort(Protocol):
    """The supervisor that answers a handler's calls, here or in another process."""

    async def call(self, settlement: Settlement) -> SettleResult:
        """Settle one thing now and wait until it is durable."""
        ...

    async def ask(self, errand: str, *arguments: Any) -> Any:
        """Run an errand of :mod:`ramet.engine.context.supervisor_calls`; arguments and answer are JSON values."""
        ...


class ContextParts(NamedTuple):
    """Parts of a context."""

    work: Work
    kind: Kind
    registry: Registry
    clock: Clock
    lease_seconds: float
    call: Callable[[Settlement], Coroutine[Any, Any, SettleResult]]
    """Settles something of the task now; raises ClaimLost where the claim is not current."""
    ask: Callable[..., Coroutine[Any, Any, Any]]
    """Runs an errand of :mod:`ramet.engine.context.supervisor_calls`."""
    lifespan: Any
    """Value that the app's lifespan yielded in this process."""


class InvokeResult(NamedTuple):
    """The result of :meth:`ramet.Context.invoke`."""

    claimed: int
    """Tasks that it took."""
    changed: int
    """Those of them that ended, moved to another stage, or settled tasks that are bound to them."""
    left: bool
    """True when tasks of these kinds are live, whether due or not."""


class HasClaim(Protocol):
    """The part of a context that its other parts use: the current claim and the desk that answers for it."""

    _work: Work
    _kind: Kind
    _lease_seconds: float

    @property
    def _desk(self) -> SupervisorPort:
        """Return the supervisor."""
        ...

    async def _call(self, settlement: Settlement) -> SettleResult:
        """Settle one thing now; raise ClaimLost where the claim is not current."""
        ...

    def _accepted(self, settled: SettleResult) -> SettleResult:
        """Return the answer, or raise ClaimLost where it says that the claim is not current."""
        ...
