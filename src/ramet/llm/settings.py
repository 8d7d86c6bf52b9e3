"""Settings of a job: the payload of its first task, durable in the transaction that creates the job."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from ramet import PRESETS, Blob, Limits
from ramet.llm.pricing.prices import Price
from ramet.llm.providers.base import Mode
from ramet.llm.requests import Endpoint, Request

CacheScope = Literal["job", "all", "none"]

JOB = "llm.job"
JOB_KEY = "job"
ITEM = "llm.item"
BATCH_ITEM = "llm.batch_item"
BATCH = "llm.batch"
POLL = "llm.poll"
SCHEDULE = "llm"
"""Name of the schedule whose slots start the poller."""
END = "llm.end"
QUEUE = "llm"
"""Queue of everything that workers claim by themselves."""
ITEMS = "llm.items"
BATCHES = "llm.batches"

DATABASE = "llm.db"
"""File of the database where none is named."""
PREFIX = "llm-"
"""Prefix of the name of every job's lineage."""
BATCH_SECONDS = 26 * 3_600.0
"""Deadline of what goes through a provider's batch: its window of 24 hours, and time to fetch the results."""
INVALID_MAX = 2
"""Number of times that an answer that does not fit its schema is asked for again."""
CONCURRENCY_FACTOR = 4
"""Calls that a process has in flight, unless a person says otherwise, for each that the preset allows a poller."""
CONCURRENCY = 64
"""The same of a process that works on whatever comes, and of the preset ``balanced``."""
LANES_MAX = 8
"""Batches of a job that are at the provider at once."""


class JobSettings(BaseModel):
    """Settings of a job. No keys to providers: those are in the environment of the workers."""

    model_config = ConfigDict(frozen=True)

    provider: str
    mode: Mode
    base_url: str | None = None
    """Address of a compatible server; None: the provider's own."""
    prices: dict[str, Price]
    """Price by model, of one call without discount; whatever the list says later, this job is booked at these."""
    discount: float = 1.0
    """Factor on the prices in this mode."""
    check: str | None = None
    """A pydantic model, ``package.module:Model``, that answers have to fit; None: the schema of the request, if any."""
    invalid_max: int = INVALID_MAX
    preset: str = "balanced"
    item_seconds: float | None = None
    """Seconds from an item's first claim to its end; None: :attr:`seconds_of_item`."""
    call_retries: int = 6
    """Number of times that a submit that was never answered may be repeated."""
    batch_items: int = 50_000
    """Prompts of one batch."""
    batch_bytes: int = 180_000_000
    mean_amount: int = 0
    """Mean of the most that an item may cost; nano-dollars."""
    mean_bytes: int = 1
    """About what a question takes, in the mean."""
    concurrency: int = CONCURRENCY
    """Calls that one process has in flight for this job, at most; refusals of the provider lower it for a while."""
    limit_name: str | None = None
    """The parameter that limits an answer's tokens, where a person says it."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Headers of every request; ``env:NAME`` is the value of that variable on the worker, so that no row has it."""
    query: dict[str, str] = Field(default_factory=dict)
    """Added to every address."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    source: str = ""
    """The input file, for people."""
    rows: int
    """Lines of the input."""
    items: int
    """Distinct questions."""
    digest: str = ""
    """Digest of all that is asked: a job of the same name and another digest is another job."""
    defaults: dict[str, Any] = Field(default_factory=dict)
    """Defaults of rows, for those that are added later (:class:`ramet.llm.inputs.questions.Defaults`)."""
    cache: CacheScope = "job"
    """Source of answers to equal questions: this ``job``, ``all`` jobs, or ``none``."""
    on_answer: str | None = None
    """Function that is called with each answer, ``package.module:function``; each row is an item of its own then."""
    raw: bool = False
    """True to keep all of an answer in the results, as the provider wrote it."""

    @property
    def limits(self) -> Limits:
        """The preset."""
        return PRESETS[self.preset]

    @property
    def seconds_of_item(self) -> float:
        """Seconds from an item's first claim to its end: as given, or those of its batch, or the preset's."""
        if self.item_seconds is not None:
            return self.item_seconds
        if self.mode is Mode.BATCH or self.limits.task_seconds is None:
            return BATCH_SECONDS
        return self.limits.task_seconds

    @property
    def place(self) -> str:
        """Place of the provider, for names of resources: ``openai``, ``openai@localhost:8000``."""
        if self.base_url is None:
            return self.provider
        return f"{self.provider}@{urlsplit(self.base_url).netloc.rpartition('@')[2]}"

    def resource(self, model: str, of: str) -> str:
        """Return the bucket of a model: ``of`` is ``requests``, ``tokens``, ``polls`` or ``batches``."""
        return f"llm:{self.place}:{model}:{of}"


def _is_none(value: object) -> bool:
    return value is None


class ItemPayload(BaseModel):
    """One question; its key is the task's."""

    model_config = ConfigDict(frozen=True, validate_by_name=True, validate_by_alias=True)

    model: str
    messages: tuple[dict[str, Any], ...]
    max_output_tokens: int
    parameters: dict[str, Any] = Field(default_factory=dict)
    # `schema` is a method of every pydantic model.
    answer_schema: dict[str, Any] | None = Field(default=None, alias="schema", exclude_if=_is_none)
    endpoint: Endpoint = "chat"
    row: dict[str, Any] | None = Field(default=None, exclude_if=_is_none)
    """Id and own columns, where the job calls a handler with each answer."""
    repairs: int | None = Field(default=None, exclude_if=_is_none)
    """Number of times that an answer that does not fit is asked for again; None: as the job says."""
    request: Blob | None = Field(default=None, exclude_if=_is_none)
    """A question that is too large for a payload: then all of the others but the model are in this blob."""


PAYLOAD_BYTES_MAX = 200_000
"""Most bytes of a question that is kept in its task's payload; a larger one is a blob."""


def item_payload(request: Request, repairs: int | None = None) -> ItemPayload:
    """Return a question as the payload of its item; ``repairs`` as there."""
    payload = ItemPayload.model_validate(
        {
            "model": request.model,
            "messages": request.messages,
            "max_output_tokens": request.max_output_tokens,
            "parameters": request.parameters,
            "answer_schema": request.schema,
            "endpoint": request.endpoint,
            "row": request.row,
            "repairs": repairs,
        }
    )
    if request.size <= PAYLOAD_BYTES_MAX:
        return payload
    blob = Blob.of(payload.model_dump(mode="json", by_alias=True, exclude={"request"}))
    return ItemPayload(model=request.model, messages=(), max_output_tokens=request.max_output_tokens, request=blob)


class LanePayload(BaseModel):
    """One of the lanes of a job in batch mode: it sends a batch, settles it, and sends the next."""

    lane: int
    model: str
    """A batch asks one model."""


def lane_queue(job_id: str, model: str) -> str:
    """Return the queue in which items of a job wait for lanes of a model."""
    return f"{job_id}:{model}"
