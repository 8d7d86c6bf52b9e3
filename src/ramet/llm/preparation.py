"""From what was typed to a job that can be created: all is read, checked and priced before anything is written."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ramet import PRESETS, as_usd
from ramet.commands.errors import one_line
from ramet.llm.answers import open_check, schema_of
from ramet.llm.calls import ENVIRONMENT, KEYS, gateway_of, key_for
from ramet.llm.errors import InputError, LlmError, Refused, UnknownModel
from ramet.llm.inputs.prompt_file import Row, read_records, read_rows
from ramet.llm.inputs.questions import Defaults
from ramet.llm.inputs.sources import name_of
from ramet.llm.inputs.spool import Questions, questions_of
from ramet.llm.jobs import check_name, job_name
from ramet.llm.on_answer import open_handler
from ramet.llm.pricing.estimate import Estimate, estimate
from ramet.llm.pricing.mode_choice import rate_of
from ramet.llm.pricing.prices import Price, price_of
from ramet.llm.providers.base import Capabilities, Mode
from ramet.llm.providers.registry import caps_of, check_request
from ramet.llm.providers.sdk_calls import checked_host
from ramet.llm.requests import Endpoint
from ramet.llm.settings import BATCH_SECONDS, CONCURRENCY_FACTOR, INVALID_MAX, CacheScope, JobSettings

SCHEMA_BYTES_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class SubmitArguments:
    """Arguments of a submit, from the command line or a program: the input and how it is asked."""

    path: Path | None = None
    rows: Any = None
    """Instead of a file: a DataFrame, a table, a data set, or an iterator of mappings or texts."""
    model: str | None = None
    provider: str = "openai"
    base_url: str | None = None
    mode: str = "auto"
    format: str | None = None
    max_output_tokens: int | None = None
    system: str | None = None
    template: str | None = None
    endpoint: Endpoint = "chat"
    raw: bool = False
    schema: Path | Mapping[str, Any] | None = None
    check: str | None = None
    parameters: tuple[str, ...] | Mapping[str, Any] = ()
    price: str | None = None
    preset: str = "balanced"
    cache: CacheScope = "job"
    on_answer: str | None = None
    skip_bad: bool = False
    max_cost: int | None = None
    """Nano-dollars."""
    soft_cost: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    concurrency: int | None = None
    limit_name: str | None = None
    headers: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    answer_tokens: int | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class PreparedJob:
    """A job that can be created."""

    name: str
    questions: Questions
    settings: JobSettings
    estimate: Estimate
    max_cost: int | None
    """Nano-dollars; None where nothing costs anything."""
    skipped: tuple[tuple[int, str], ...] = ()
    """Line of each row that was left out, and why."""


def prepare(wanted: SubmitArguments) -> PreparedJob:
    """Read and check all of it. Nothing is sent or written.

    Raises:
        LlmError: something cannot be taken; where a line is at fault, the message names it.
    """
    _check_costs(wanted)
    if wanted.base_url is not None:
        checked_host(wanted.base_url)
    if wanted.name is not None:
        check_name(wanted.name)
    caps = _caps(wanted)
    prices: dict[str, Price] = {}
    lines: array[int] = array("q")
    if wanted.on_answer is not None:
        open_handler(wanted.on_answer)
    defaults = _defaults(wanted)
    skipped: list[tuple[int, str]] = []
    rows = _rows(wanted, defaults, skipped)
    questions = questions_of(
        _priced(rows, wanted, prices, lines, skipped),
        distinct=wanted.cache != "none",
        handed_on=wanted.on_answer is not None,
    )
    if not len(questions.rows):
        raise InputError(f"{_source(wanted)} holds no row that can be taken: see why, row by row, without --skip-bad")
    found = _estimated(wanted, questions, prices, caps)
    mode = found.choice.mode
    _check_requests(wanted, questions, mode, lines)
    limits = PRESETS[wanted.preset]
    settings = JobSettings(
        provider=wanted.provider, mode=mode, base_url=wanted.base_url, prices=prices, discount=caps[mode].discount,
        check=wanted.check, preset=wanted.preset,
        item_seconds=BATCH_SECONDS if mode is Mode.BATCH else limits.task_seconds or BATCH_SECONDS,
        call_retries=limits.call_retries,
        batch_items=min(caps[mode].items_max, 50_000),
        limit_name=wanted.limit_name, headers=_headers(wanted.headers), query=_pairs("query", wanted.query),
        concurrency=_calls_at_once(wanted),
        requests_per_minute=wanted.requests_per_minute, tokens_per_minute=wanted.tokens_per_minute,
        source=_source(wanted), rows=len(questions.rows), items=len(questions.requests),
        raw=wanted.raw, cache=wanted.cache, on_answer=wanted.on_answer, defaults=asdict(defaults),
    )  # fmt: skip
    name = wanted.name or job_name(questions, settings)
    return PreparedJob(name, questions, settings, found, wanted.max_cost, tuple(skipped))


def _source(wanted: SubmitArguments) -> str:
    """Return the name of the input."""
    return "the rows" if wanted.path is None else name_of(wanted.path)


def _rows(wanted: SubmitArguments, defaults: Defaults, skipped: list[tuple[int, str]]) -> Iterator[Row]:
    skip = (lambda line, why: skipped.append((line, why))) if wanted.skip_bad else None
    if wanted.path is not None:
        return read_rows(wanted.path, defaults, format=wanted.format, skip=skip)
    return read_records(wanted.rows, defaults, skip=skip)


def check_ceiling(prepared: PreparedJob) -> None:
    """Refuse a job whose ceiling lets nothing be asked, and one that costs money and has none.

    Raises:
        LlmError: so it is.
    """
    costs = prepared.estimate.costs
    if prepared.max_cost is None and costs.worst:
        raise LlmError(
            f"--max-cost is missing: this job costs {as_usd(costs.worst)} at worst, likely {as_usd(costs.likely)}; "
            "say how many dollars it may cost"
        )
    if prepared.max_cost is not None and costs.largest > prepared.max_cost:
        raise LlmError(
            f"--max-cost {as_usd(prepared.max_cost)} is too low: a single prompt reserves up to "
            f"{as_usd(costs.largest)}; give more, or a lower --max-output-tokens"
        )


def missing_key(settings: JobSettings) -> str | None:
    """Return the variable to set where the vendor wants a key that the environment lacks; None where there is one."""
    try:
        gateway = gateway_of(settings)
    except LlmError as error:
        return str(error)
    if settings.base_url is not None or gateway.headers or key_for(settings.provider) is not None:
        return None
    [name] = KEYS[settings.provider]
    return f"{settings.provider} asks for a key and the environment has none: set {name}"


def _check_costs(wanted: SubmitArguments) -> None:
    if wanted.soft_cost is not None and wanted.max_cost is not None and wanted.soft_cost > wanted.max_cost:
        raise LlmError(f"--soft-cost is over the hard ceiling: give at most {as_usd(wanted.max_cost)}")


def _caps(wanted: SubmitArguments) -> Mapping[Mode, Capabilities]:
    """Return the capabilities of each mode that may be taken; other servers are taken to give no discount."""
    found = caps_of(wanted.provider)
    if wanted.base_url is not None:
        found = {mode: replace(caps, discount=1.0) for mode, caps in found.items()}
    return found


def _defaults(wanted: SubmitArguments) -> Defaults:
    schema = None
    if wanted.check is not None:
        schema = schema_of(wanted.check)
    elif wanted.schema is not None:
        schema = _schema(wanted.schema) if isinstance(wanted.schema, Path) else dict(wanted.schema)
        open_check(schema, None)
    parameters = wanted.parameters if isinstance(wanted.parameters, Mapping) else _parameters(wanted.parameters)
    return Defaults(
        model=wanted.model, system=wanted.system, max_output_tokens=wanted.max_output_tokens,
        parameters=parameters, schema=schema, template=_template(wanted.template),
        endpoint=wanted.endpoint,
    )  # fmt: skip


def _template(words: str | None) -> str | None:
    """Return a template, read from the file that ``@`` names.

    Raises:
        InputError: there is no such file.
    """
    if words is None or not words.startswith("@"):
        return words
    try:
        return Path(words[1:]).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the template {words[1:]}: {one_line(error)}") from error


def _schema(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            text = file.read(SCHEMA_BYTES_MAX + 1)
        found = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot read a JSON Schema from {path}: {error}") from error
    if len(text) > SCHEMA_BYTES_MAX or not isinstance(found, dict):
        raise InputError(f"{path} holds no JSON Schema: give a JSON object of at most {SCHEMA_BYTES_MAX:,} bytes")
    return found


def _parameters(given: Iterable[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not name or not equals:
            raise InputError(f"--parameter {one[:60]!r} is none: give NAME=VALUE, such as temperature=0")
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):
            found[name] = value
    return found


def _pairs(option: str, given: Iterable[str]) -> dict[str, str]:
    found = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not name.strip() or not equals or not (name + value).isprintable():
            raise InputError(f"--{option} {name[:60]!r} is not NAME=VALUE: write it so, in printable characters")
        found[name.strip()] = value
    return found


_SECRET = re.compile(r"auth|key|token|secret|cookie|passw|signature|credential", re.IGNORECASE)


def _headers(given: Iterable[str]) -> dict[str, str]:
    found = _pairs("header", given)
    for name, value in found.items():
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or not value.isascii():
            raise InputError(f"--header {name[:60]!r} is not a header: its name has no spaces, its value is ASCII")
        if _SECRET.search(name) and not value.startswith(ENVIRONMENT):
            raise InputError(
                f"the header {name} looks like a secret, and a job keeps what it is given: put the value into a "
                f"variable and give --header {name}={ENVIRONMENT}VARIABLE"
            )
    return found


def _priced(
    rows: Iterable[Row],
    wanted: SubmitArguments,
    prices: dict[str, Price],
    lines: array[int],
    skipped: list[tuple[int, str]],
) -> Iterator[Row]:
    """Yield the rows; meanwhile each model gets its price, and each row's line is noted."""
    likely = Mode.CHAT if wanted.mode == "auto" else Mode(wanted.mode)
    for row in rows:
        model = row.request.model
        if model not in prices:
            try:
                prices[model] = price_of(model, wanted.provider, wanted.price, base_url=wanted.base_url)
            except UnknownModel as error:
                if wanted.skip_bad:
                    skipped.append((row.line, str(error)))
                    continue
                raise UnknownModel(f"{_source(wanted)}, line {row.line}: {error}") from error
        tier = row.request.parameters.get("service_tier")
        if tier == "priority" and tier not in prices[model].of_tier:
            raise UnknownModel(
                f"{_source(wanted)}, line {row.line}: the price list has no price of {model} in the tier 'priority': "
                "leave 'service_tier' out"
            )
        if wanted.skip_bad:
            # How the provider is asked is known at the end only; what a plain call cannot ask nothing can.
            try:
                check_request(wanted.provider, likely, row.request)
            except Refused as error:
                skipped.append((row.line, str(error)))
                continue
        lines.append(row.line)
        yield row


def _calls_at_once(wanted: SubmitArguments) -> int:
    return wanted.concurrency or CONCURRENCY_FACTOR * PRESETS[wanted.preset].invocation_concurrency


def _estimated(
    wanted: SubmitArguments, questions: Questions, prices: Mapping[str, Price], caps: Mapping[Mode, Capabilities]
) -> Estimate:
    limits = PRESETS[wanted.preset]
    given = None if wanted.mode == "auto" else Mode(wanted.mode)
    other = given is None and wanted.base_url is not None
    checked = wanted.check is not None or any(request.schema is not None for request in questions.requests)
    found = estimate(
        questions.requests,
        lambda model: prices[model],
        caps,
        # The poller is the schedule's, whatever the preset of one of its jobs.
        requests_per_second=rate_of(PRESETS["balanced"], wanted.requests_per_minute),
        ceiling=wanted.max_cost,
        answer_tokens=wanted.answer_tokens,
        answers_max=1 + INVALID_MAX if checked else 1,
        given=Mode.CHAT if other else given,
        job_seconds=limits.lineage_seconds,
    )
    found = replace(found, rows=len(questions.rows)).at_once(_calls_at_once(wanted), wanted.requests_per_minute)
    if other:
        why = "chat: every server at a --base-url has it; give --mode background or batch where yours has them"
        found = replace(found, choice=found.choice._replace(why=why))
    return found


def _check_requests(wanted: SubmitArguments, questions: Questions, mode: Mode, lines: array[int]) -> None:
    """Refuse what the provider would refuse, with the first line that asks it."""
    requests = iter(questions.requests)
    for row, line in zip(questions.rows, lines, strict=True):
        if not row.first:
            continue
        try:
            check_request(wanted.provider, mode, next(requests))
        except Refused as error:
            raise InputError(f"{_source(wanted)}, line {line}: {error}") from error
