"""Errors of handlers in Sentry, by middleware: each with its task, its lineage and its attempt.

Middleware runs where handlers run and has the exception itself, by which Sentry groups events. Events are sent from a
thread of the SDK, and flushed when the process ends. If a task is tried again, its error is a warning; the error of the
last attempt is an error. `SENTRY_DSN` says where to send it; without it, or without `sentry-sdk`, nothing is sent.
"""

import argparse
import tempfile
from collections.abc import AsyncIterator
from typing import Any

from ramet import App, Context, Limits, Permanent, Retry, StoreError, SyncContext, Transient

try:
    import sentry_sdk
except ImportError:
    sentry_sdk = None

ATTEMPTS = 2
app = App(limits=Limits(max_attempts=ATTEMPTS), retry=Retry(base_seconds=0.01))


@app.lifespan
async def sending(app: App) -> AsyncIterator[None]:
    """Set Sentry up, once in each process that runs handlers."""
    if sentry_sdk is not None:
        sentry_sdk.init()  # reads SENTRY_DSN
    yield
    if sentry_sdk is not None:
        sentry_sdk.flush(timeout=2.0)


async def reported(ctx: Any) -> AsyncIterator[None]:
    """Wrap each call of a handler: events reported inside it, in whatever thread, have the task's tags."""
    with sentry_sdk.isolation_scope() as scope:
        scope.set_transaction_name(ctx.kind)
        scope.set_tags({"task_id": ctx.id, "tracking_id": ctx.tracking_id, "attempt": ctx.attempt})
        try:
            yield
        except Exception as error:
            last = isinstance(error, Permanent) or ctx.attempt >= ATTEMPTS
            scope.set_level("error" if last else "warning")
            scope.capture_exception(error)
            raise


if sentry_sdk is not None:
    app.middleware(reported)


@app.task()
async def charge(ctx: Context, order: int) -> str:
    """Succeed, at the second attempt for even numbers; never for 3."""
    if order == 3:
        raise Permanent("the card was refused")
    if order % 2 == 0 and ctx.attempt == 1:
        raise Transient("the provider is busy")
    return f"order {order} is paid"


@app.task()
def receipt(ctx: SyncContext, order: int) -> None:
    """Run as a plain function: the scope of its middleware is that of its thread too."""
    raise ValueError(f"no template for order {order}")


def main(database: str) -> None:
    with app.sync_client(database) as client:
        wanted = [client.submit(charge, order).id for order in (1, 2, 3)]
        wanted.append(client.submit(receipt, 4).id)
    app.run(database)
    with app.sync_client(database) as client:
        for task_id in wanted:
            task = client.get(task_id)
            assert task is not None
            print(f"{task.kind}: {task.state} after {task.attempts} attempts, {task.result or task.error}")
    print("errors were reported" if sentry_sdk is not None else "sentry-sdk is not installed: nothing was reported")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", nargs="?", help="a file to keep; without it a temporary one is used")
    with tempfile.TemporaryDirectory() as folder:
        try:
            main(parser.parse_args().database or f"{folder}/shop.db")
        except StoreError as error:
            parser.error(str(error))
