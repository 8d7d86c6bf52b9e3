"""An app whose handler asks the database itself, from the process that it runs in."""

from __future__ import annotations

from typing import Any

from ramet import App, Context

app = App(tables=["CREATE TABLE IF NOT EXISTS asked (name TEXT PRIMARY KEY)"])


@app.task("asks")
async def asks(context: Context, name: str) -> dict[str, Any]:
    """Counts the tasks there are, and writes its name down."""
    context.write("INSERT INTO asked (name) VALUES (?)", (name,))
    [(tasks,)] = await context.client.read("SELECT COUNT(*) FROM ramet_tasks")
    return {"tasks": tasks, "in_time": 0 < context.remaining_seconds <= 600}
