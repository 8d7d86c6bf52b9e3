"""An agent asks a model for smaller questions, joins their answers, and never spends more than it was given.

Each question is a task. It asks the model what to look into, spawns a task for each part, and returns ``ctx.join()``;
when all parts have ended, the handler is called again and answers from their answers. Each part is a branch with a
budget of its own, of which the price of its answer is kept aside: however long the model goes on asking, every question
that was granted is answered. Parts for which there is no money are refused by the guard, and the answer says so.
"""

import argparse
import asyncio
import tempfile
from typing import Any, NamedTuple

from ramet import App, Budget, Client, Context, Limits, Outcome, StoreError, Worker, as_usd

CENT = 10_000_000
"""One cent, in nano-dollars."""
BUDGETS = [60 * CENT, 18 * CENT, 5 * CENT]
"""Budgets of a question at depth 0, at depth 1 and deeper, with all that grows below it."""
PLAN_MOST, ANSWER_MOST = 2 * CENT, 3 * CENT
"""Highest cost of the two calls of a question; both outputs are capped."""
KEPT = ANSWER_MOST
"""The part of a question's budget that is kept aside for its answer."""
QUESTION = "why does it rain"
PARTS = {
    QUESTION: ["where does the water come from", "why does it fall", "when does it stop", "who asked first"],
    "where does the water come from": ["how much is in the sea", "how much is in the air"],
}
"""Parts that the model names; about other questions that begin with "why" it never stops."""

app = App(limits=Limits(max_cost=BUDGETS[0], max_tasks=100, max_spawn_depth=4))


class Reply(NamedTuple):
    """Text of a model, and its price in nano-dollars."""

    lines: list[str]
    price: int


class Model:
    """Stand-in for a provider."""

    def __init__(self) -> None:
        self.calls: dict[str, Reply] = {}

    async def plan(self, question: str, idempotency_key: str) -> Reply:
        """Return smaller questions, if there are any. The same key again is the same call."""
        endless = [f"{question}, {number}" for number in "abc"] if question.startswith("why") else []
        return self.calls.setdefault(idempotency_key, Reply(PARTS.get(question, endless), PLAN_MOST))

    async def answer(self, question: str, answers: list[str], idempotency_key: str) -> Reply:
        """Answer a question, from the answers to its parts where there are any: that takes fewer words."""
        text = f"because of {len(answers)} things" if answers else "because it is so"
        price = ANSWER_MOST - CENT if answers else ANSWER_MOST
        return self.calls.setdefault(idempotency_key, Reply([text], price))


model = Model()


@app.task("ask", key=str)
async def ask(ctx: Context, question: str) -> Outcome | dict[str, Any]:
    """Cut a question into smaller ones, and answer it from their answers."""
    if ctx.joined is None and (parts := await plan(ctx, question)):
        most = BUDGETS[min(ctx.spawn_depth + 1, len(BUDGETS) - 1)]
        for part in parts:
            ctx.spawn(ask, part, budget=Budget(max_cost=most, keep_cost=KEPT))
        return ctx.join()
    found = [part.result for part in ctx.joined or () if part.ok]
    return {
        "question": question,
        "answer": await answer(ctx, question, [part["answer"] for part in found]),
        "parts": found,
        "not asked": {part.key: part.refused_code for part in ctx.joined or () if part.refused},
        "failed": [part.key for part in ctx.joined or () if not part.ok and not part.refused],
    }


async def plan(ctx: Context, question: str) -> list[str]:
    """Pay for smaller questions. After a crash the same name finds the same reservation, and the key the same call."""
    reserved = await ctx.reserve(PLAN_MOST, name="plan", provider_deduplicates=True)
    reply = await model.plan(question, idempotency_key=f"{ctx.id}:plan")
    await reserved.settle(reply.price)
    return reply.lines


async def answer(ctx: Context, question: str, answers: list[str]) -> str:
    """Pay for the answer: the money is there, since it was kept aside."""
    reserved = await ctx.reserve(ANSWER_MOST, name="answer", provider_deduplicates=True)
    reply = await model.answer(question, answers, idempotency_key=f"{ctx.id}:answer")
    await reserved.settle(reply.price)
    return reply.lines[0]


def print_answers(tree: dict[str, Any], indent: str = "") -> None:
    """Print an answer, and below it those that it was made from."""
    print(f"{indent}{tree['question']}: {tree['answer']}")
    for part in tree["parts"]:
        print_answers(part, indent + "  ")
    for question, code in tree["not asked"].items():
        print(f"{indent}  {question}: not asked, {code}")
    for question in tree["failed"]:
        print(f"{indent}  {question}: not answered")


async def submit(client: Client) -> str:
    """Submit the question with all the money there is; return the task's id."""
    budget = Budget(max_cost=BUDGETS[0], keep_cost=KEPT)
    return (await client.submit(ask, QUESTION, budget=budget, tracking_id="rain")).id


async def main(database: str) -> None:
    async with app.client(database) as client:
        root = await submit(client)
        await Worker(app, client, until_idle=True).run()
        print_answers(await client.result(root))
        lineage = await client.lineage("rain")
        assert lineage is not None
        print(f"{lineage.tasks} questions asked, {as_usd(lineage.spent)} of {as_usd(BUDGETS[0])} spent")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", nargs="?", help="a file to keep; without it a temporary one is used")
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(main(parser.parse_args().database or f"{folder}/answers.db"))
        except StoreError as error:
            parser.error(str(error))
