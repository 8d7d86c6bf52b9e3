"""Settling a provider's batch: each answer goes to its item, each cost is booked, what comes late is kept."""

from __future__ import annotations

from ramet import BoundTask, Context
from ramet.llm.booking import INVALID, Booked, Judged, judged, write_answers
from ramet.llm.calls import Job, request_of
from ramet.llm.errors import ProviderError
from ramet.llm.filling import BatchState
from ramet.llm.providers.base import Answer, AnswerState
from ramet.llm.settings import BATCH_ITEM, ItemPayload
from ramet.llm.submits import settle

ANSWERS_PER_COMMIT = 1_000
AGAIN_SECONDS = 60.0
"""How long an item is held back that is asked again."""


class Settling:
    """One pass over the results of a batch. A pass after a crash goes over all of them again, to the same end."""

    def __init__(self, ctx: Context, job: Job, state: BatchState, stage: str | None) -> None:
        self._ctx, self._job, self._state, self._stage = ctx, job, state, stage
        self._open: dict[str, BoundTask] = {}
        self._booked: list[Booked] = []
        self.cost = 0
        """Nano-dollars of all answers so far."""

    async def run(self, remote_id: str, why_none: str) -> None:
        """Settle all of it.

        Args:
            why_none: what is told of items that the batch has no answer for.

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
        payload = ItemPayload.model_validate_json(told.payload)
        one = judged(self._job, request_of(answer.key, payload), answer)
        self.cost += one.cost
        self._booked.append(Booked(told.task_id, key, one))
        if one.result is not None:
            self._ctx.settle_item(told.task_id, told.number, "success", result=one.result)
        elif await self._again(told.task_id, one):
            self._ctx.settle_item(told.task_id, told.number, "pending", delay_seconds=AGAIN_SECONDS)
        else:
            reason = one.reason or one.state
            if answer.state is AnswerState.CANCELLED and self._ctx.ending_reason:
                # It was cancelled because its lane was ended: that is why it failed.
                reason = f"{self._ctx.ending_reason}: {reason}"
            self._ctx.settle_item(told.task_id, told.number, "failed", reason=reason)

    async def _again(self, task_id: str, one: Judged) -> bool:
        if one.answer.state is AnswerState.FAILED:
            return one.answer.retriable
        if one.state != INVALID:
            return False
        [(before,)] = await self._ctx.read(
            "SELECT COUNT(*) FROM llm_answers WHERE task_id = ? AND state = ?", (task_id, INVALID)
        )
        return int(before) < self._job.settings.invalid_max

    async def _late(self, answer: Answer, key: str) -> None:
        """Its item ended before the answer came, or an earlier pass has settled it: then its row is there already."""
        page = await self._ctx.client.tasks(tracking_id=self._ctx.tracking_id, kind=BATCH_ITEM, key=answer.key, limit=1)
        for task in page.tasks:
            payload = ItemPayload.model_validate(task.payload)
            one = judged(self._job, request_of(answer.key, payload), answer)
            self.cost += one.cost
            self._booked.append(Booked(task.id, key, one, late=True))
