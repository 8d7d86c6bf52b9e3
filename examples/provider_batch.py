"""Prompts of many lineages go to a provider in one batch, which answers later and costs money.

Each prompt is a task of its own; no handler runs it. The batch is one task that *binds* the prompts, reserves the
most that the answers can cost, sends the prompts, and is put off until there is something to look at. It settles each
prompt when its answer comes, and the money when the price is known. Between two looks nothing runs and nothing is held
in memory: all of it survives a kill.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence

from ramet import App, BoundTask, Client, Context, Limits, Outcome, StoreError, Worker

PROMPTS = ["name an owl", "name a finch", "name a gull", "name all birds", "name a crow"]
CENT = 10_000_000
"""One cent, in nano-dollars."""
CENTS_AT_MOST = 2
"""Highest price of one answer, in cents; its length is capped."""
app = App(limits=Limits(max_cost=100 * CENT))


class Provider:
    """Stand-in for a service with a batch interface; it answers in two parts."""

    def __init__(self) -> None:
        self.jobs: dict[str, list[str]] = {}
        self.looks = 0

    async def send(self, prompts: Sequence[str], idempotency_key: str) -> str:
        """Submit a job; the same key again is the same job."""
        self.jobs.setdefault(idempotency_key, list(prompts))
        return idempotency_key

    async def look(self, job: str) -> tuple[Mapping[str, str | None], bool]:
        """Return the answers so far (None: refused), and whether these are all."""
        self.looks += 1
        answers = {prompt: None if "all" in prompt else prompt.split()[-1].upper() for prompt in self.jobs[job]}
        done = self.looks > 1
        return (answers if done else dict(list(answers.items())[:2])), done


provider = Provider()


@app.task("batch")
async def batch(ctx: Context, prompt_ids: list[str]) -> Outcome | dict[str, int]:
    if ctx.stage is None:
        await ctx.bind(prompt_ids)  # those that are not free are left out
        bound = await ctx.bound()
        call = await ctx.reserve(len(bound) * CENTS_AT_MOST * CENT)
        job = await provider.send([prompt_of(told) for told in bound], idempotency_key=ctx.id)
        await ctx.checkpoint("sent", {"job": job, "call": call.id, "amount": call.amount, "sent": len(bound)})
        return ctx.snooze(1)
    answers, done = await provider.look(ctx.state["job"])
    for told in await ctx.bound():
        prompt = prompt_of(told)
        if prompt not in answers:
            continue
        answer = answers[prompt]
        if answer is None:
            ctx.settle_item(told.task_id, told.number, "failed", reason="the provider refused it")
        else:
            ctx.settle_item(told.task_id, told.number, "success", result=answer)
    if not done:
        return ctx.snooze(1)
    paid = sum(answer is not None for answer in answers.values())
    await ctx.reservation(ctx.state["call"], ctx.state["amount"]).settle(paid * CENT)
    return {"sent": ctx.state["sent"], "paid": paid}


def prompt_of(told: BoundTask) -> str:
    """Return the prompt of a bound task."""
    return str(json.loads(told.payload))


async def report(client: Client, tracking_id: str, prompt_ids: Sequence[str]) -> None:
    """Print what became of the prompts, of the batch, and of the money."""
    for text, prompt_id in zip(PROMPTS, prompt_ids, strict=True):
        task = await client.get(prompt_id)
        assert task is not None
        print(f"{text}: {task.state}, {task.result or task.reason}")
    lineage = await client.lineage(tracking_id)
    assert lineage is not None
    print(f"spent {lineage.spent // CENT} cents, reserved {lineage.reserved // CENT}")


async def main(database: str) -> None:
    async with app.client(database) as client:
        prompts = [told.id for told in await client.submit_many([("prompt", text) for text in PROMPTS])]
        submitted = await client.submit(batch, prompts)
        await Worker(app, client, until_idle=True).run()
        print(f"batch: {await client.result(submitted.id)}")
        await report(client, submitted.tracking_id, prompts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", nargs="?", help="a file to keep; without it a temporary one is used")
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(main(parser.parse_args().database or f"{folder}/batch.db"))
        except StoreError as error:
            parser.error(str(error))
