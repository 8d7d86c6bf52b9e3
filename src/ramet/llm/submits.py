"""What items and lanes keep of a submit: its name, its reservation, and where it stands at the provider."""

from __future__ import annotations

from pydantic import BaseModel

from ramet import Context


class SubmitState(BaseModel):
    """What a task knows of its last submit; the pipeline_state of whoever submits."""

    submits: int = 0
    """How often it submitted; the number of the last submit."""
    reservation: str | None = None
    """Of the last submit, while it is open."""
    amount: int = 0
    """What that reserved, nano-dollars."""
    remote_id: str | None = None
    submitted_at: float = 0.0
    ambiguous: int = 0
    """Submits of which nobody knows what became."""

    def submit_key(self, task_id: str) -> str:
        """The name of the last submit, for ever."""
        return f"{task_id}.{self.submits}"


async def save(ctx: Context, stage: str, state: SubmitState) -> None:
    """Commit where the submit stands."""
    await ctx.checkpoint(stage, state.model_dump())


async def settle(ctx: Context, state: SubmitState, actual: int) -> None:
    """Book what the last submit cost, nano-dollars; nothing where that was done."""
    if state.reservation is not None:
        await ctx.reservation(state.reservation, state.amount).settle(actual)
        state.reservation = None


async def reset(ctx: Context, stage: str, state: SubmitState) -> None:
    """The task ends: whoever revives it submits anew, under a name that no claim can have reserved under."""
    state.submits, state.remote_id, state.reservation = state.submits + 1, None, None
    await save(ctx, stage, state)
