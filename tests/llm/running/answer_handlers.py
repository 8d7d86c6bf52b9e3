"""Handlers of answers, as a program has them: importable by workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ramet.llm.on_answer import AnswerContext, RowAnswer

TABLE = "CREATE TABLE IF NOT EXISTS labels (id TEXT NOT NULL, label TEXT, task_id TEXT NOT NULL)"
ADD = "INSERT INTO labels (id, label, task_id) VALUES (?, ?, ?)"
"""A second row for one item would be told: nothing here is unique."""


def keep(ctx: AnswerContext, row: Mapping[str, Any], answer: RowAnswer) -> None:
    ctx.write(ADD, (row["id"], f"{row.get('kind')}:{answer.text}", ctx.task_id))


async def keep_later(ctx: AnswerContext, row: Mapping[str, Any], answer: RowAnswer) -> None:
    keep(ctx, row, answer)


def stumble(ctx: AnswerContext, row: Mapping[str, Any], answer: RowAnswer) -> None:
    keep(ctx, row, answer)
    if row["id"] == "1":
        raise ValueError("this label is none")


def write_nonsense(ctx: AnswerContext, row: Mapping[str, Any], answer: RowAnswer) -> None:
    keep(ctx, row, answer)
    if row["id"] == "1":
        ctx.write("INSERT INTO no_such_table (id) VALUES (?)", (row["id"],))
