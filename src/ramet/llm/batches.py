"""Lanes of a job: each sends its items in batches, as many as batch, bytes and money allow, and settles them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ramet import (
    BoundTask,
    Ceiling,
    Context,
    CostRefused,
    Outcome,
    Permanent,
    item_settlement,
    own_logger,
)
from ramet.llm import app as tables
from ramet.llm.app import BATCH_ITEM_LIMITS, LANE_LIMITS, app
from ramet.llm.asking_again import bound_again, invalid_answers, may_be_judged
from ramet.llm.batch_requests import BatchRequests, ChosenItem, chosen_of, whole_item
from ramet.llm.calls import (
    INVALID,
    BookedAnswer,
    ClaimedJob,
    JudgedAnswer,
    SubmitState,
    account_fault,
    busy,
    calling,
    judged,
    note_refusal,
    request_of,
    reset,
    save,
    settle,
    stored_result,
    take_turn,
    unreached,
    whole_payload,
    write_answers,
)
from ramet.llm.errors import Ambiguous, NotAllowed, NotSent, ProviderError, Refused, TooBusy
from ramet.llm.items import POLL_SECONDS, PROCESSING, QUEUED, SUBMITTING, hold_job, poll_seconds
from ramet.llm.known_answers import end_of, settle_known
from ramet.llm.providers.base import Answer, AnswerState, Poll, PollState
from ramet.llm.refusals import Meaning, queue_seconds
from ramet.llm.settings import BATCH, BATCH_ITEM, BATCHES, ItemPayload, LanePayload, lane_queue

LOOK_AT = 10_000
"""Items that one look lists."""
ROUNDS_MAX = 20
"""Looks of one filling: other lanes take what was seen."""
OVERHEAD_BYTES = 512
"""Bytes that a provider's format adds to a request, at most."""


class BatchState(SubmitState):
    """State of a lane's batch."""

    items: int = 0
    items_max: int | None = None
    """The next batch has no more: the provider refused a larger one, so that the one bad request is found by halves."""
    refusals: int = 0
    """Batches in a row that the provider did not take on for now."""
    looks: int = 0
    """Number of looks for a submit that may have been taken on."""


async def fill(ctx: Context, job: ClaimedJob, queue: str, state: BatchState) -> list[ChosenItem]:
    """Bind items for the next batch; those that an earlier claim bound are the batch, as they are."""
    bound = await ctx.bound()
    if not bound:
        await _bind(ctx, job, queue, await _count(ctx, job, state))
        bound = await ctx.bound()
        while await settle_known(ctx, job, bound):
            await _bind(ctx, job, queue, await _count(ctx, job, state) - len(bound))
            bound = await ctx.bound()
    chosen: list[ChosenItem] = []
    size = amount = 0
    room = await _room(ctx)
    wrong = await invalid_answers(ctx, [item.task_id for item in bound]) if may_be_judged(job, bound) else {}
    for item in bound:
        told = bound_again(job, await whole_item(ctx, item), wrong.get(item.task_id))
        size += len(told.payload.encode()) + OVERHEAD_BYTES
        one = chosen_of(job, told)
        if chosen and (size > job.settings.batch_bytes or (room is not None and amount + one.amount > room)):
            break
        chosen.append(one)
        amount += one.amount
    await release(ctx, bound[len(chosen) :])
    return chosen


async def release(ctx: Context, bound: Sequence[BoundTask], delay_seconds: float = 0.0) -> None:
    """Let items go, for this lane or another."""
    if bound:
        await ctx.settle_items(
            [
                item_settlement(told.task_id, told.number, "pending", delay_seconds=delay_seconds, uses_time=False)
                for told in bound
            ]
        )


async def refuse(ctx: Context, job: ClaimedJob, queue: str, amount: int, reason: str) -> None:
    """Fail all items that may cost as much as one for which there will never be room again; let the others go.

    Args:
        amount: what that one may cost, nano-dollars.
    """
    for _ in range(ROUNDS_MAX):
        found = await ctx.client.claimable(BATCH_ITEM, queue=queue, limit=LOOK_AT)
        if found:
            await ctx.bind(found)
        bound = await ctx.bound()
        answers = []
        for told in bound:
            if chosen_of(job, await whole_item(ctx, told)).amount >= amount:
                answers.append(item_settlement(told.task_id, told.number, "failed", reason=reason))
        await ctx.settle_items(answers)
        if not found or len(answers) < len(bound):
            await release(ctx, await ctx.bound())
            return


async def _count(ctx: Context, job: ClaimedJob, state: BatchState) -> int:
    """Return the number of items to bind: no more than could be sent, so that few have to be let go again."""
    most = min(job.settings.batch_items, job.caps.items_max)
    if state.items_max is not None:
        most = min(most, state.items_max)
    # All of it is read into memory once: of large prompts no more than a batch may have.
    most = min(most, job.settings.batch_bytes * 5 // (4 * job.settings.mean_bytes))
    room = await _room(ctx)
    if room is not None and job.settings.mean_amount:
        most = min(most, room * 5 // (4 * job.settings.mean_amount))
    return max(1, most)


async def _room(ctx: Context) -> int | None:
    """Return the amount that may still be reserved, nano-dollars; None without a ceiling."""
    costs = await ctx.client.costs(ctx.tracking_id, limit=1)
    bounds = [Ceiling("lineage", row.spent, row.reserved, row.max_cost, row.soft_cost) for row in costs.lineages]
    left = [
        bound.reservable - bound.spent - bound.reserved
        for bound in (*bounds, costs.day, costs.total)
        if bound.reservable is not None
    ]
    return max(0, min(left)) if left else None


async def _bind(ctx: Context, job: ClaimedJob, queue: str, count: int) -> None:
    for _ in range(ROUNDS_MAX):
        found = await ctx.client.claimable(BATCH_ITEM, queue=queue, limit=min(count, LOOK_AT))
        if not found or count <= 0:
            return
        count -= sum(told.refused is None for told in await ctx.bind(found))


ANSWERS_PER_COMMIT = 1_000


class BatchSettlement:
    """One pass over the results of a batch. A pass after a crash goes over all of them again, to the same end."""

    def __init__(self, ctx: Context, job: ClaimedJob, state: BatchState, stage: str | None) -> None:
        self._ctx, self._job, self._state, self._stage = ctx, job, state, stage
        self._open: dict[str, BoundTask] = {}
        self._booked: list[BookedAnswer] = []
        self.cost = 0
        """Nano-dollars of all answers so far."""
        self.account: Answer | None = None
        """One that says that the account is at fault."""
        self._refused = 0
        self._again_seconds = queue_seconds(state.refusals + 1)
        self._last = ""

    async def run(self, remote_id: str, why_none: str) -> None:
        """Settle all of it.

        Args:
            why_none: the reason of items that the batch has no answer for.

        Raises:
            ProviderError: the results could not be read to the end; what was read is kept.
        """
        ctx, state = self._ctx, self._state
        self._open = {told.key: told for told in await ctx.bound()}
        try:
            async for answer in self._job.provider.results(remote_id, seconds=ctx.call_seconds):
                await self._take(answer)
                if len(self._booked) >= ANSWERS_PER_COMMIT:
                    await self._commit()
        except ProviderError:
            # The items that were settled so far commit with the lane's next pause: their rows go with them.
            self._write()
            raise
        for told in self._open.values():
            ctx.settle_item(told.task_id, told.number, "failed", reason=why_none)
        state.refusals = state.refusals + 1 if self._refused else 0
        if self._refused:
            note_refusal(ctx, state, self._refused, self._last)
        await self._commit()
        await settle(ctx, state, self.cost)

    def _write(self) -> None:
        write_answers(self._ctx, self._ctx.tracking_id, self._booked, self._ctx.now)
        self._booked = []

    async def _commit(self) -> None:
        self._write()
        if self._stage is not None:
            await self._ctx.checkpoint(self._stage, self._state.model_dump())

    async def _take(self, answer: Answer) -> None:
        told = self._open.pop(answer.key, None)
        key = self._state.submit_key(self._ctx.id)
        if told is None:
            await self._late(answer, key)
            return
        payload = await whole_payload(self._ctx, ItemPayload.model_validate_json(told.payload))
        request = request_of(answer.key, payload)
        one = judged(self._job, request, answer)
        self.cost += one.cost
        if one.result is not None:
            result = await stored_result(self._ctx, one.result)
            kept = result if self._job.settings.on_answer is not None else None
            self._booked.append(BookedAnswer(told.task_id, key, one, kept=kept))
            end = await end_of(self._ctx, self._job, told, request, result)
            self._ctx.settle_item(told.task_id, told.number, **end)
            return
        self._booked.append(BookedAnswer(told.task_id, key, one))
        if answer.meaning is Meaning.ACCOUNT:
            # The item is not at fault. Its job pauses as soon as the rest of the batch is settled.
            self.account = answer
            self._refuse(told, one, 0.0)
        elif answer.retriable:
            self._refuse(told, one, self._again_seconds)
        elif await self._again(told.task_id, one, payload.repairs):
            self._ctx.settle_item(told.task_id, told.number, "pending")
        else:
            reason = one.reason or one.state
            if answer.state is AnswerState.CANCELLED and self._ctx.ending_reason:
                # It was cancelled because its lane was ended: that is why it failed.
                reason = f"{self._ctx.ending_reason}: {reason}"
            self._ctx.settle_item(told.task_id, told.number, "failed", reason=reason)

    def _refuse(self, told: BoundTask, one: JudgedAnswer, delay_seconds: float) -> None:
        self._refused, self._last = self._refused + 1, one.reason or one.state
        self._ctx.settle_item(told.task_id, told.number, "pending", delay_seconds=delay_seconds, uses_time=False)

    async def _again(self, task_id: str, one: JudgedAnswer, repairs: int | None) -> bool:
        if one.state != INVALID:
            return False
        [(before,)] = await self._ctx.read(
            "SELECT COUNT(*) FROM llm_answers WHERE task_id = ? AND state = ?", (task_id, INVALID)
        )
        return int(before) < (self._job.settings.invalid_max if repairs is None else repairs)

    async def _late(self, answer: Answer, key: str) -> None:
        """Its item ended before the answer came, or an earlier pass has settled it: then its row is there already."""
        page = await self._ctx.client.tasks(
            tracking_id=self._ctx.tracking_id, kind=BATCH_ITEM, key=answer.key, exact=True, limit=1
        )
        for task in page.tasks:
            payload = await whole_payload(self._ctx, ItemPayload.model_validate(task.payload))
            one = judged(self._job, request_of(answer.key, payload), answer)
            self.cost += one.cost
            self._booked.append(BookedAnswer(task.id, key, one, late=True))


log = own_logger("ramet.llm")

LOOKS_MAX = 3
"""Number of looks for an uncertain batch before it counts as never taken on."""
LOOK_SECONDS = 60.0
"""Between two of these."""
SETTLED_SECONDS = 120.0
"""Between a submit and the first look for it: a list of batches may be behind."""
NEXT_SECONDS = 1.0
"""Between two batches of a lane: the next is a claim, and counts as one, of its own."""
VALIDATING = "validating"
"""State of a batch at OpenAI that was taken on and not yet looked into."""
IDLE_SECONDS = 60.0
"""Pause between the looks of a lane without work for items of its model that came back."""
BYTES_PER_SECOND = 1_000_000
"""An upload may take as much longer than another call."""


@app.task(BATCH, queue=BATCHES, limits=LANE_LIMITS, pulled=True)
async def batch(ctx: Context, payload: LanePayload) -> Outcome | dict[str, Any]:
    return await run_lane(ctx, await calling.job(ctx.client, ctx.tracking_id), payload)


async def run_lane(ctx: Context, job: ClaimedJob, payload: LanePayload) -> Outcome | dict[str, Any]:
    """Take a lane one step on: send its next batch, ask about the one that is out, or settle it."""
    state = BatchState.model_validate(ctx.state)
    try:
        if ctx.stage == PROCESSING:
            return await _poll(ctx, job, payload, state)
        if ctx.stage == SUBMITTING:
            return await _look_for(ctx, job, state)
        async with calling.pace(job, payload.model).turn(ctx.now) as turn:
            if not turn:
                return Outcome.snooze(POLL_SECONDS, "concurrency")
            return await _send_next(ctx, job, payload, state)
    except NotAllowed as error:
        return await hold_job(ctx, error)


@app.task(BATCH_ITEM, limits=BATCH_ITEM_LIMITS, pulled=True)
async def batch_item(ctx: Context, payload: ItemPayload) -> None:
    """One question of a batch. Lanes bind it and settle it: nothing claims it, and the poller does not invoke it."""
    raise Permanent(f"question {ctx.key} is for a lane to settle")


# --- sending


async def _send_next(ctx: Context, job: ClaimedJob, lane: LanePayload, state: BatchState) -> Outcome | dict[str, Any]:
    queue = lane_queue(ctx.tracking_id, lane.model)
    chosen = await fill(ctx, job, queue, state)
    if not chosen:
        if await _live(ctx):
            return Outcome.snooze(IDLE_SECONDS, "no items now")
        # Not a success: a person who revives items revives the lane that sends them too.
        return Outcome.skip("no items are left")
    seconds = await take_turn(ctx, partial(job.settings.resource, lane.model), {"batches": 1})
    if seconds > 0.0:
        return Outcome.snooze(seconds, f"the rate of {lane.model}")
    state.submits += 1
    try:
        # Nothing is sent before the checkpoint below: what an earlier claim left open under the name cost nothing.
        reservation = await ctx.reserve(
            sum(one.amount for one in chosen), name=f"submit{state.submits}", provider_deduplicates=True
        )
    except CostRefused as error:
        return await _no_room(ctx, job, queue, chosen, error)
    state.reservation, state.amount, state.items = reservation.id, reservation.amount, len(chosen)
    state.remote_id, state.submitted_at, state.looks = None, ctx.now, 0
    await save(ctx, SUBMITTING, state)
    return await _send(ctx, job, lane, state, chosen)


async def _send(
    ctx: Context, job: ClaimedJob, lane: LanePayload, state: BatchState, chosen: Sequence[ChosenItem]
) -> Outcome | dict[str, Any]:
    size = sum(len(one.told.payload) for one in chosen)
    seconds = min(ctx.remaining_seconds, ctx.call_seconds + size / BYTES_PER_SECOND)
    try:
        sent = await job.provider.submit(BatchRequests(chosen), submit_key=state.submit_key(ctx.id), seconds=seconds)
    except Ambiguous as error:
        _note(ctx, state, str(error), "open")
        await save(ctx, SUBMITTING, state)
        return Outcome.snooze(poll_seconds(0.0), f"ambiguous: {error}")
    except ProviderError as error:
        await settle(ctx, state, 0)
        if isinstance(error, NotSent):
            note_refusal(ctx, state, len(chosen), str(error))
            state.unreached += not isinstance(error, TooBusy)
        await save(ctx, QUEUED, state)
        if isinstance(error, Refused):
            return await _by_halves(ctx, state, f"refused: {error.code}: {error}")
        if isinstance(error, TooBusy):
            later = busy(error, job.settings.place)
            await release(ctx, [one.told for one in chosen], later.seconds)  # Their own time does not run meanwhile.
            resource = job.settings.resource(lane.model, "batches")
            await ctx.adapt(resource, remaining=0, reset_seconds=later.seconds)
            raise later from error
        if isinstance(error, NotSent):
            put_off = unreached(state, error)
            await release(ctx, [one.told for one in chosen], put_off.seconds)
            return put_off
        raise
    calling.pace(job, lane.model).batch_sent(ctx.now)
    state.remote_id, state.unreached = sent.remote_id, 0
    await save(ctx, PROCESSING, state)
    return Outcome.snooze(poll_seconds(0.0))


async def _no_room(
    ctx: Context, job: ClaimedJob, queue: str, chosen: Sequence[ChosenItem], error: CostRefused
) -> Outcome:
    """Act on a ceiling that refuses the batch: wait where asking again makes sense, else try fewer items, then none."""
    if error.retry_seconds is not None:
        await release(ctx, [one.told for one in chosen], error.retry_seconds)
        raise error
    if len(chosen) > 1:
        await release(ctx, [one.told for one in chosen[len(chosen) // 2 :]])
        return Outcome.snooze(NEXT_SECONDS, "less: no room")
    await refuse(ctx, job, queue, chosen[0].amount, str(error))
    return Outcome.snooze(NEXT_SECONDS, "no room")


async def _by_halves(ctx: Context, state: BatchState, why: str) -> Outcome:
    """Halve a batch that the provider refused as a whole: one bad request must not spoil the others."""
    bound = await ctx.bound()
    if len(bound) == 1:
        ctx.settle_item(bound[0].task_id, bound[0].number, "failed", reason=why)
        state.items_max = None
    else:
        state.items_max = max(1, len(bound) // 2)
        await release(ctx, bound[state.items_max :])
    await save(ctx, QUEUED, state)
    return Outcome.snooze(NEXT_SECONDS, f"by halves: {why}")


async def _live(ctx: Context) -> bool:
    """Return whether items of the job live that may come back, from this lane or another."""
    live = await ctx.client.tasks(
        tracking_id=ctx.tracking_id, kind=BATCH_ITEM, states=("pending", "processing"), limit=1
    )
    return bool(live.tasks)


# --- looking for submits of unknown fate


async def _look_for(ctx: Context, job: ClaimedJob, state: BatchState) -> Outcome:
    key, pause = state.submit_key(ctx.id), poll_seconds(LOOK_SECONDS)
    if not job.caps.can_find:
        return await _unknown(ctx, job, state)
    early = state.submitted_at + SETTLED_SECONDS - ctx.now
    if early > 0.0:
        return Outcome.snooze(early, "a list of batches may be behind")
    try:
        remote_id = await job.provider.find(key, seconds=ctx.call_seconds, submitted_at=state.submitted_at)
    except NotSent as error:
        _note(ctx, state, "the process did not come back, or the answer was lost", "open")
        return Outcome.snooze(pause, f"not reached: {error}")
    if remote_id is not None:
        _note(ctx, state, "it was found", "found", remote_id)
        state.remote_id = remote_id
        await save(ctx, PROCESSING, state)
        return Outcome.snooze(NEXT_SECONDS)
    state.looks += 1
    if state.looks < LOOKS_MAX:
        _note(ctx, state, "it is not there yet", "open")
        await save(ctx, SUBMITTING, state)
        return Outcome.snooze(LOOK_SECONDS, "is it there?")
    _note(ctx, state, f"not there after {state.looks} looks", "not_found")
    await settle(ctx, state, 0)
    await save(ctx, QUEUED, state)
    return Outcome.snooze(NEXT_SECONDS)


async def _unknown(ctx: Context, job: ClaimedJob, state: BatchState) -> Outcome:
    """Book a batch whose fate cannot be looked up: the money counts as spent, and it may be sent again a few times."""
    _note(ctx, state, "the provider cannot be asked", "unknown")
    await settle(ctx, state, state.amount)
    state.ambiguous += 1
    if state.ambiguous <= job.settings.call_retries:
        await save(ctx, QUEUED, state)
        return Outcome.snooze(NEXT_SECONDS)
    for told in await ctx.bound():
        ctx.settle_item(told.task_id, told.number, "failed", reason="unknown: the fate of its batch is not known")
    await save(ctx, QUEUED, state)
    return Outcome.snooze(NEXT_SECONDS)


def _note(ctx: Context, state: BatchState, why: str, outcome: str, remote_id: str | None = None) -> None:
    row = (state.submit_key(ctx.id), ctx.tracking_id, ctx.id, state.items, state.amount, why, outcome, remote_id,
           ctx.now)  # fmt: skip
    ctx.write(tables.ADD_AMBIGUOUS, row)


# --- polling


async def _poll(ctx: Context, job: ClaimedJob, lane: LanePayload, state: BatchState) -> Outcome:
    assert state.remote_id is not None
    age = ctx.now - state.submitted_at
    try:
        poll = await job.provider.poll(state.remote_id, seconds=ctx.call_seconds)
        if poll.provider_state != VALIDATING:
            calling.pace(job, lane.model).batch_begun(ctx.now, good=poll.state in (PollState.LIVE, PollState.ENDED))
        if poll.state is PollState.LIVE:
            await ctx.progress(poll.done, poll.total or state.items, poll.provider_state)
            bound = await ctx.client.bound_counts(ctx.tracking_id)
            if ctx.id not in bound and job.caps.can_cancel:
                # All its items timed out or were cancelled: it is stopped, and what it did until then is booked.
                await job.provider.cancel(state.remote_id, seconds=ctx.call_seconds)
            return Outcome.snooze(poll_seconds(age, poll.retry_seconds))
        if poll.state is PollState.ENDED:
            why = f"no_answer: the batch ended ({poll.provider_state}) without one"
            settlement = BatchSettlement(ctx, job, state, PROCESSING)
            await settlement.run(state.remote_id, why)
            done = await _done(ctx, state)
            if settlement.account is not None:
                raise account_fault(job.settings.place, f"{settlement.account.code}: {settlement.account.error}")
            return done
    except TooBusy as error:
        return Outcome.snooze(poll_seconds(age, error.seconds), f"busy: {error}")
    except NotSent as error:
        return Outcome.snooze(poll_seconds(age), f"not reached: {error}")
    if poll.state is PollState.FAILED:
        await settle(ctx, state, 0)
        return await _failed(ctx, job, state, poll)
    await settle(ctx, state, state.amount)
    for told in await ctx.bound():
        reason = f"lost: the provider does not know batch {state.remote_id} any more"
        ctx.settle_item(told.task_id, told.number, "failed", reason=reason)
    return await _done(ctx, state)


async def _failed(ctx: Context, job: ClaimedJob, state: BatchState, poll: Poll) -> Outcome:
    """Act on a batch that failed as a whole, of which nothing was billed, by the meaning of its error."""
    why, bound = f"{poll.provider_state}: {poll.error}", await ctx.bound()
    if poll.meaning in (Meaning.BATCH, Meaning.REQUEST):
        state.refusals = 0
        return await _by_halves(ctx, state, f"refused: {why}")
    note_refusal(ctx, state, len(bound), why)
    if poll.meaning is Meaning.ACCOUNT:
        await save(ctx, QUEUED, state)  # Its items stay bound: they are the next batch, once a person has acted.
        raise account_fault(job.settings.place, poll.error or poll.provider_state)
    state.refusals += 1
    if state.refusals > job.settings.call_retries:
        if poll.meaning is None:
            # No table has the code, and waiting did not help.
            return await _by_halves(ctx, state, f"refused: {why}")
        # A queue may be smaller than the batch is alone. No item fails for that.
        state.items_max = max(1, len(bound) // 2)
    pause = queue_seconds(state.refusals)
    await release(ctx, bound, pause)
    await save(ctx, QUEUED, state)
    return Outcome.snooze(pause, f"busy: {why}")


async def _done(ctx: Context, state: BatchState) -> Outcome:
    state.reservation, state.remote_id, state.ambiguous = None, None, 0
    if state.items_max is not None:
        state.items_max *= 2
    await save(ctx, QUEUED, state)
    return Outcome.snooze(NEXT_SECONDS)


@app.on_end(batch)
async def end_batch(ctx: Context, payload: LanePayload) -> None:
    await end_lane(ctx, await calling.job(ctx.client, ctx.tracking_id))


async def end_lane(ctx: Context, job: ClaimedJob) -> None:
    """Cancel at the provider what a limit or a person ended here; keep what it answered all the same."""
    state = BatchState.model_validate(ctx.state)
    if ctx.stage in (SUBMITTING, PROCESSING):
        await _cancel(ctx, job, state)
    await reset(ctx, QUEUED, state)


async def _cancel(ctx: Context, job: ClaimedJob, state: BatchState) -> None:
    remote_id = state.remote_id
    try:
        if remote_id is None and job.caps.can_find:
            remote_id = await job.provider.find(
                state.submit_key(ctx.id), seconds=ctx.call_seconds, submitted_at=state.submitted_at
            )
        if remote_id is None:  # Open work counts as spent: its fate is unknown.
            _note(ctx, state, f"it was ended while its fate was unknown: {ctx.ending_reason}", "unknown")
            return
        if job.caps.can_cancel:
            await job.provider.cancel(remote_id, seconds=ctx.call_seconds)
        poll = await job.provider.poll(remote_id, seconds=ctx.call_seconds)
        if poll.state is PollState.ENDED:
            await BatchSettlement(ctx, job, state, None).run(remote_id, "")
        else:  # Open work counts as spent.
            _note(ctx, state, f"it was ended while the provider said {poll.provider_state}", "unknown", remote_id)
    except ProviderError as error:
        log.warning("batch %s could not be cancelled at the provider: %s", remote_id, error)
        _note(ctx, state, f"it was ended and could not be cancelled: {error}", "unknown", remote_id)
