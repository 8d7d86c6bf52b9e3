"""A web service: a request submits a task and returns at once; another asks for the result, and may wait for it.

    RAMET_DB=service.db uvicorn examples.fastapi_service:api
    RAMET_DB=service.db ramet worker examples.fastapi_service:app

The worker is a program of its own, so a restart of the service stops no work, and each can be scaled by itself.
The client is opened and closed by the service's lifespan, once in each of its processes.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request, Response
from pydantic import BaseModel, Field

from ramet import App, Client, Context, LineageExists, Permanent

WAIT_SECONDS_MAX = 30.0
"""Longest wait of one request; a client that wants to wait longer asks again."""

app = App()


class Order(BaseModel):
    """A request: checked before the task exists, and again before it runs."""

    city: str = Field(min_length=1, max_length=80)
    days: int = Field(default=3, ge=1, le=14)


class Report(BaseModel):
    """An answer: where the task is, and its result once it has ended."""

    id: str
    state: str
    result: Any = None
    why: str | None = None


@app.task("forecast")
async def forecast(ctx: Context, order: Order) -> list[str]:
    """Make the forecast; in a real service this takes too long for a request."""
    if order.city == "Atlantis":
        raise Permanent("there is no such city")
    return [f"{order.city}, day {day}: rain" for day in range(1, order.days + 1)]


@asynccontextmanager
async def lifespan(api: FastAPI) -> AsyncIterator[dict[str, Client]]:
    """Hold a client open while the service runs."""
    async with app.client(os.environ.get("RAMET_DB", "service.db")) as client:
        yield {"client": client}


api = FastAPI(title="Forecasts", lifespan=lifespan)


def opened(request: Request) -> Client:
    """Return the client of the lifespan."""
    client: Client = request.state.client
    return client


OpenClient = Annotated[Client, Depends(opened)]


@api.post("/forecasts", status_code=202)
async def order(
    wanted: Order,
    client: OpenClient,
    response: Response,
    idempotency_key: Annotated[str | None, Header(pattern=r"^[\w-]{1,64}$")] = None,
) -> Report:
    """Submit a task. The same Idempotency-Key again is the same task: a caller may repeat a request that broke off."""
    name = f"forecast-{idempotency_key}" if idempotency_key else None
    try:
        submitted = await client.submit(forecast, wanted, tracking_id=name)
    except LineageExists as error:
        raise HTTPException(409, "this Idempotency-Key was used for another order: give a new one") from error
    response.headers["Location"] = f"/forecasts/{submitted.id}"
    return await found(client, submitted.id)


@api.get("/forecasts/{task_id}")
async def look(
    task_id: str,
    client: OpenClient,
    response: Response,
    wait_seconds: Annotated[float, Query(ge=0, le=WAIT_SECONDS_MAX)] = 0,
) -> Report:
    """Return the task: 200 when it has ended, 202 while it is live, after the time that the caller would wait."""
    try:
        await client.wait(task_id, timeout_seconds=wait_seconds)
    except LookupError as error:
        raise HTTPException(404, "no such forecast") from error
    except TimeoutError:
        response.status_code = 202
    return await found(client, task_id)


async def found(client: Client, task_id: str) -> Report:
    """Return what a caller may see of a task."""
    task = await client.get(task_id)
    if task is None or task.kind != "forecast":
        raise HTTPException(404, "no such forecast")
    return Report(id=task.id, state=task.state, result=task.result, why=task.why)
