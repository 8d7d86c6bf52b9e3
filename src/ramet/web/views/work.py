"""Routes for workers of any language: claim, keep, settle. Scope ``work``; the rules are those of the pull API."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field, JsonValue
from starlette.requests import Request

from ramet import Claim, ClaimLost, ClaimResult, Client, Outcome, TaskState
from ramet.engine.context.joined import Joined
from ramet.engine.context.outcome import ReportedError
from ramet.model.lineage.limits import LEASE_SECONDS
from ramet.model.paths import DEPTH_MAX
from ramet.model.task.joined import JoinedTask, JoinPlace
from ramet.model.task.retry import ErrorClass, RetryAfter
from ramet.web.actions.action import guarded
from ramet.web.answer import Answer, AsObject, encodable, json_value
from ramet.web.claims import (
    LEASE_SECONDS_MAX,
    ClaimOver,
    Handle,
    check_distinct,
    handle_of,
    lease_of,
    one_refusal,
    over_code,
    pair_of,
    release,
    resumed,
    under_claim,
    while_connected,
)
from ramet.web.page import BadInput, ClientDep
from ramet.web.wanted import (
    ITEMS_MAX,
    WHOLE_MAX,
    Body,
    OnDependencyFailure,
    Seconds,
    SpawnAnswer,
    Text,
    WantedSpawn,
    Words,
)

router = APIRouter(tags=["work"])
CLAIMS_MAX = 100
"""Claims in one answer: each may have a payload of 256 KB."""
WAIT_SECONDS_MAX = 30
KINDS_MAX = 100

Lease = Annotated[int, Field(ge=1, le=LEASE_SECONDS_MAX)]
Spawns = Annotated[list[WantedSpawn], Field(max_length=ITEMS_MAX)]
NanoDollars = Annotated[int, Field(ge=0, le=WHOLE_MAX)]
Number = Annotated[float, Field(ge=-1e300, le=1e300, allow_inf_nan=False)]


class ClaimBody(Body):
    """Tasks that a worker can claim."""

    kinds: Annotated[list[Text], Field(min_length=1, max_length=KINDS_MAX)]
    """Kinds in any language: none has to be registered."""
    worker: Annotated[Text, Field(max_length=100)]
    """Name under which the claims are shown."""
    n: Annotated[int, Field(ge=1, le=CLAIMS_MAX)] = 1
    queues: Annotated[list[Text], Field(min_length=1, max_length=KINDS_MAX)] | None = None
    """Queues to claim from; left out, `default`."""
    path: list[Words] = Field(default=[], max_length=DEPTH_MAX)
    """Only tasks at this path or below it."""
    lease_seconds: Lease = int(LEASE_SECONDS)
    """How long each claim lives without a heartbeat."""
    wait_seconds: Annotated[float, Field(ge=0, le=WAIT_SECONDS_MAX)] = 0.0
    """How long to wait for the first task when there is none."""


JoinedTaskAnswer = Annotated[JoinedTask, AsObject()]
PlaceAnswer = Annotated[JoinPlace, AsObject()]


class JoinedPageAnswer(Answer):
    """Some of the tasks that were waited for, in the order of their spawns, refused ones among them."""

    tasks: list[JoinedTaskAnswer]
    next: PlaceAnswer | None
    """Beginning of the next page; null at the end."""


class JoinedAnswer(JoinedPageAnswer):
    """The tasks that were waited for: how many, and the first page of them."""

    round: int
    """Number of the join, from 1; 0 for the tasks that it was created after."""
    total: int
    states: dict[str, int]
    refused: int


class ClaimAnswer(Answer):
    """A task in the hands of a worker, under a lease and a fence."""

    claim: str
    """Handle of the claim in later calls."""
    task_id: str
    tracking_id: str
    parent_id: str | None
    kind: str
    key: str
    payload: JsonValue
    attempt: int
    """1 on the first run; snoozed and lost attempts do not count."""
    fence: int
    """Grows with every claim of the task."""
    token: str
    """An idempotency token for calls to the outside: another one with every claim."""
    lease_seconds: int
    """Send a heartbeat every third of it; without one the claim is lost after this time."""
    deadline_at: float | None
    """End of the task's own time, which does not run while the task waits for others."""
    now: float
    """The database's clock, to compare with."""
    spawn_depth: int
    path: list[str]
    stage: str | None
    pipeline_state: dict[str, JsonValue]
    """State of the last checkpoint; empty before the first."""
    chain_depth: int
    snoozes: int
    ending: TaskState | None
    """State as which the task ends, where a limit or an operator ends it."""
    joined: JoinedAnswer | None
    """Outcomes of the children after a join; null before the first."""
    after: JoinedAnswer | None
    """The tasks that it was created after; null where there are none."""


class HeartbeatBody(Body):
    """Claims that are worked on."""

    claims: Annotated[list[Handle], Field(min_length=1, max_length=ITEMS_MAX)]


class LostClaim(Answer):
    """A claim that is not current any more: stop its work."""

    claim: str
    code: str
    """`claim_lost`, or `claim_settled` where its worker settled it."""
    message: str


class HeartbeatAnswer(Answer):
    """The claims whose leases were not extended."""

    lost: list[LostClaim]


class CheckpointBody(Body):
    """State, spawns and charges to commit now; after a crash the task resumes from them."""

    claim: Handle
    stage: Text | None = None
    state: dict[str, JsonValue] | None = None
    """The new pipeline_state; left out, it stays."""
    spawns: Spawns = Field(default=[])
    charge: NanoDollars = 0
    """Money that was spent, in nano-dollars."""


class SpawnBody(Body):
    """Children to be decided about at once."""

    claim: Handle
    spawns: Annotated[list[WantedSpawn], Field(min_length=1, max_length=ITEMS_MAX)]


class ProgressBody(Body):
    """How far the task is, for people."""

    claim: Handle
    done: Number
    total: Number | None = None
    message: Words = ""


class SpawnsAnswer(Answer):
    """The guard's answers, in the order asked."""

    spawns: list[SpawnAnswer]


class _Settlement(Body):
    claim: Handle


class _Kept(_Settlement):
    spawns: Spawns = Field(default=[])
    charge: NanoDollars = 0
    """Money that was spent, in nano-dollars."""


class Success(_Kept):
    """End as *success*."""

    outcome: Literal["success"]
    result: JsonValue = None


class Filter(_Kept):
    """End as *filtered*: what the task is about was rejected."""

    outcome: Literal["filter"]
    reason: Text


class Skip(_Kept):
    """End as *skipped*: the work need not be done."""

    outcome: Literal["skip"]
    reason: Text


class Snooze(_Kept):
    """Return to pending for a number of seconds, at least 1; the attempt is given back."""

    outcome: Literal["snooze"]
    seconds: Seconds
    reason: Text | None = None
    uses_time: bool = True
    """False where the task's own time is stopped meanwhile: it waits for a rate, or for a server."""


class Continue(_Kept):
    """Run again with fresh attempts, after progress only."""

    outcome: Literal["continue"]


class Join(_Kept):
    """Wait for the task's own children; it is claimed again with `joined` when they have ended."""

    outcome: Literal["join"]
    branch: bool = False
    """Whether to wait for all tasks below the children, too."""
    on_dependency_failure: OnDependencyFailure = "run"


class ErrorBody(Body):
    """An error of a handler."""

    name: Annotated[Text, Field(max_length=200, pattern=r"^[^\x00-\x1f]+$")]
    """Its type."""
    message: Words = ""
    error_class: ErrorClass = ErrorClass.UNCLASSIFIED
    """`transient` and `unclassified` are tried again while attempts are left, `permanent` never."""
    traceback: Annotated[Words, Field(max_length=100_000)] | None = None


class Failure(_Settlement):
    """The attempt failed; nothing since the last checkpoint is kept."""

    outcome: Literal["failure"]
    error: ErrorBody


class RetryLater(_Settlement):
    """A server named the time to come back: the attempt is given back, and its resource pauses for all."""

    outcome: Literal["retry_after"]
    seconds: Seconds
    resource: Annotated[Text, Field(max_length=200)] | None = None
    """Resource that was busy; left out, the task's own."""


class Release(_Settlement):
    """Hand the task back with its attempt, as if it had never been claimed."""

    outcome: Literal["release"]


SettlementBody = Annotated[
    Success | Filter | Skip | Snooze | Continue | Join | Failure | RetryLater | Release,
    Field(discriminator="outcome"),
]  # fmt: skip


class SettleManyBody(Body):
    """Ends of many claims, in one transaction."""

    settlements: Annotated[list[SettlementBody], Field(min_length=1, max_length=ITEMS_MAX)]


class SettleAnswer(Answer):
    """Outcome of a task whose claim ended."""

    claim: str
    state: TaskState | None
    """`pending` when it will run again; null where the settlement was refused."""
    reason: str | None
    spawns: list[SpawnAnswer]
    refused: LostClaim | None
    """Why it was refused; null where it was accepted."""


@router.post("/claims")
async def claim_tasks(request: Request, client: ClientDep, body: ClaimBody) -> list[ClaimAnswer]:
    """Take up to `n` tasks of these kinds, each under a new fence and lease; an empty list when there are none.

    With `wait_seconds` the answer waits for the first. A caller that closes the connection meanwhile gets nothing, and
    nothing is lost: its tasks go back.
    """
    asked = client.claim(
        body.kinds, body.n, queues=body.queues, path=body.path, lease_seconds=body.lease_seconds,
        wait_seconds=body.wait_seconds, worker=body.worker,
    )  # fmt: skip
    claims = await while_connected(request, guarded(asked), release) or []
    now = client.clock.now()
    return [_claim_answer(claim, now) for claim in claims]


@router.post("/claims/heartbeat")
async def heartbeat(client: ClientDep, body: HeartbeatBody) -> HeartbeatAnswer:
    """Extend the leases of claims, each by its own `lease_seconds` from now; the answer names those that are lost."""
    by_lease: dict[float, list[str]] = defaultdict(list)
    for handle in body.claims:
        by_lease[lease_of(handle)].append(handle)
    lost = []
    for lease_seconds, handles in by_lease.items():
        fates = await client.heartbeat_many(map(pair_of, handles), lease_seconds=lease_seconds)
        for handle in handles:
            if (fate := fates.get(pair_of(handle))) is not None:
                lost.append(LostClaim(claim=handle, code=over_code(fate), message=encodable(fate.message)))
    return HeartbeatAnswer(lost=lost)


@router.post("/claims/checkpoint")
async def checkpoint(client: ClientDep, body: CheckpointBody) -> SpawnsAnswer:
    """Commit a stage, the state, spawns and charges now, and extend the lease. 409 when the claim is not current."""
    claim = await resumed(client, body.claim)
    await guarded(_buffer(claim, body.spawns, body.charge))
    answers = await under_claim(client, body.claim, claim.advance(body.stage, body.state))
    return SpawnsAnswer(spawns=SpawnAnswer.each(answers))


@router.post("/claims/spawn")
async def spawn(client: ClientDep, body: SpawnBody) -> SpawnsAnswer:
    """Ask for children and learn the guard's answers at once; committed when answered."""
    claim = await resumed(client, body.claim)
    await guarded(_buffer(claim, body.spawns, 0))
    return SpawnsAnswer(spawns=SpawnAnswer.each(await under_claim(client, body.claim, claim.advance())))


@router.post("/claims/progress")
async def progress(client: ClientDep, body: ProgressBody) -> HeartbeatAnswer:
    """Tell people how far the task is, and extend the lease."""
    claim = await resumed(client, body.claim)
    await under_claim(client, body.claim, claim.progress(body.done, body.total, body.message))
    return HeartbeatAnswer(lost=[])


@router.post("/claims/settle")
async def settle(client: ClientDep, body: SettlementBody) -> SettleAnswer:
    """End a claim. 409 when it is not current any more: `claim_settled` where it was settled by its worker before (an
    answer that was lost on the way, say), `claim_lost` where not, with what happened to it."""
    [answer] = await _settle(client, [body])
    if answer.refused is not None:
        raise ClaimOver(await client.claim_fate(*pair_of(body.claim)), answer.refused.message)
    return answer


@router.post("/claims/settle/many")
async def settle_many(client: ClientDep, body: SettleManyBody) -> list[SettleAnswer]:
    """End many claims in few transactions. A claim that is not current any more is refused by itself."""
    return await _settle(client, body.settlements)


@router.get("/claims/joined")
async def read_joined_page(
    client: ClientDep,
    *,
    claim: Annotated[Handle, Query()],
    before: bool = False,
    place: Annotated[int | None, Query(ge=0, le=WHOLE_MAX)] = None,
    behind: Annotated[int, Query(ge=0, le=WHOLE_MAX)] = 0,
) -> JoinedPageAnswer:
    """Return a page of the tasks that a claimed task has joined, or with `before` of those it was created `after`."""
    held = await resumed(client, claim)
    page = await client.joined_page(held, None if place is None else JoinPlace(place, behind), before=before)
    return JoinedPageAnswer(tasks=[*page.rows], next=page.next)


def _claim_answer(claim: Claim, now: float) -> ClaimAnswer:
    return ClaimAnswer(
        claim=handle_of(claim), task_id=claim.id, tracking_id=claim.tracking_id, parent_id=claim.parent_id,
        kind=claim.kind, key=encodable(claim.key), payload=json_value(claim.raw_payload), attempt=claim.attempt,
        fence=claim.fence, token=claim.token, lease_seconds=round(claim.lease_seconds), deadline_at=claim.deadline_at,
        now=now, spawn_depth=claim.spawn_depth, path=[*claim.path], stage=claim.stage,
        pipeline_state=json_value(claim.state), chain_depth=claim.chain_depth, snoozes=claim.snoozes,
        ending=claim.ending, joined=_joined_answer(claim.joined), after=_joined_answer(claim.after),
    )  # fmt: skip


def _joined_answer(joined: Joined | None) -> JoinedAnswer | None:
    if joined is None:
        return None
    return JoinedAnswer(
        tasks=[*joined.first], next=joined.next, round=joined.round, total=joined.total, states=dict(joined.states),
        refused=joined.refused,
    )  # fmt: skip


async def _buffer(claim: Claim, spawns: Sequence[WantedSpawn], charge: int) -> None:
    for one in spawns:
        claim.spawn(one.kind, one.payload, **one.options())
    if charge:
        claim.charge(charge)


async def _prepare(claim: Claim, body: Any) -> Any:
    """Buffer what the settlement asks for; return what a handler would have returned or raised."""
    if isinstance(body, _Kept):
        await _buffer(claim, body.spawns, body.charge)
    match body:
        case Success():
            return body.result
        case Filter():
            return Outcome.filter(body.reason)
        case Skip():
            return Outcome.skip(body.reason)
        case Snooze():
            return Outcome.snooze(body.seconds, body.reason, uses_time=body.uses_time)
        case Continue():
            return Outcome.continue_later()
        case Join():
            return Outcome.join(branch=body.branch, on_dependency_failure=body.on_dependency_failure)
        case RetryLater():
            return RetryAfter(body.seconds, body.resource or "")
        case _:
            error = body.error
            return ReportedError(error.name, error.message, error.error_class, error.traceback)


async def _settle(client: Client, bodies: Sequence[Any]) -> list[SettleAnswer]:
    handles = [body.claim for body in bodies]
    check_distinct(handles)
    await client.settings.refresh()  # Settings of retries hold for failures here, too.
    found = await client.resume_claims(map(pair_of, handles))
    asked: list[tuple[int, Claim, Any]] = []
    answers: dict[int, ClaimResult | ClaimLost | None] = {}
    for at, (body, claim) in enumerate(zip(bodies, found, strict=True)):
        if isinstance(claim, ClaimLost):
            answers[at] = claim
        elif isinstance(body, Release):
            asked.append((at, claim, None))
        else:
            asked.append((at, claim, await guarded(_prepare(claim, body))))
    settled = [(at, claim, value) for at, claim, value in asked if not isinstance(bodies[at], Release)]
    results = await guarded(client.settle_many([(claim, value) for _, claim, value in settled]))
    answers.update(zip([at for at, *_ in settled], results, strict=True))
    for at, claim, _ in asked:
        if isinstance(bodies[at], Release):
            try:
                await claim.release()
                answers[at] = ClaimResult(TaskState.PENDING, None)
            except ClaimLost as lost:
                answers[at] = lost
    await client.acknowledge([pair_of(handles[at]) for at, one in answers.items() if isinstance(one, ClaimLost)])
    return [await _settled(client, handle, answers[at]) for at, handle in enumerate(handles)]


async def _settled(client: Client, handle: str, answer: ClaimResult | ClaimLost | None) -> SettleAnswer:
    if isinstance(answer, ClaimResult):
        reason = None if answer.reason is None else encodable(str(answer.reason))
        spawns = SpawnAnswer.each(answer.spawns)
        return SettleAnswer(claim=handle, state=answer.state, reason=reason, spawns=spawns, refused=None)
    if answer is None:
        raise BadInput(f"claim {handle} got no answer")
    fate = await client.claim_fate(*pair_of(handle))
    words = one_refusal(answer)
    message = words if words == fate.message else f"{words}; {fate.message}"
    refused = LostClaim(claim=handle, code=over_code(fate), message=encodable(message))
    return SettleAnswer(claim=handle, state=None, reason=None, spawns=[], refused=refused)
