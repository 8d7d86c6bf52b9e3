"""Jobs of questions in the dashboard: money, errors by kind, an answer beside its prompt; hostile text stays text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from ramet import App
from ramet.llm import pipeline
from ramet.llm.dashboard import pages
from ramet.testing import fresh_client
from ramet.web import products
from ramet.web.products import Product
from tests.web.in_process_client import visiting
from tests.web.products.llm_world import HOSTILE, PROMPTS, answered

PROJECT = Path(__file__).parents[3]
ANSWER = re.compile(r'href="(/products/llm/answer\?[^"]+)"')


@pytest.fixture(autouse=True)
def _pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "installed", lambda: (Product("llm", pages()),))


@pytest_asyncio.fixture
async def at(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with answered(tmp_path) as client, visiting(client) as visitor:
        yield visitor


def test_the_package_names_its_pages() -> None:
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert declared[products.GROUP]["llm"] == f"ramet.llm.dashboard:{pages.__name__}"


async def test_somebodys_lineage_with_the_name_of_a_job_is_none(tmp_path: Path) -> None:
    async with answered(tmp_path) as client, visiting(client) as at:
        await client.submit(pipeline.poll, {"wait": False}, tracking_id="llm-other")
        jobs = await at.get("/products/llm")
        assert (jobs.status_code, "2 of 3" in jobs.text, "other" in jobs.text) == (200, True, False)
        assert (await at.get("/products/llm/job?name=other")).status_code == 404


async def test_unknown_jobs_answers_and_states_are_refused(at: httpx.AsyncClient) -> None:
    async with fresh_client(App()) as client, visiting(client) as empty:
        assert (await empty.get("/products/llm")).status_code == 404
    for address, status in (
        ("/products/llm/job", 404),
        ("/products/llm/job?name=nothing", 404),
        ("/products/llm/job?name=a%23b", 404),
        ("/products/llm/job?name=birds&state=odd", 400),
        ("/products/llm/job?name=birds&after=-1", 400),
        ("/products/llm/answer?name=birds&task=nothing", 404),
        ("/products/llm/answer?name=birds", 404),
    ):
        assert (await at.get(address)).status_code == status, address


async def test_money_errors_and_answers_beside_their_prompts_are_shown(at: httpx.AsyncClient) -> None:
    jobs = (await at.get("/products/llm")).text
    assert "2 of 3" in jobs
    job = (await at.get("/products/llm/job?name=birds")).text
    assert "2 of 3 questions answered" in job
    assert "1 failed" in job
    assert "1 incomplete: refusal" in job
    assert re.search(r"\$0\.\d+", job)
    links = [unescape(link) for link in ANSWER.findall(job)]
    assert len(links) == len(PROMPTS)
    failed = (await at.get("/products/llm/job?name=birds&state=failed")).text
    assert len(ANSWER.findall(failed)) == 1
    answers = [(await at.get(link)).text for link in links]
    for prompt in PROMPTS:
        assert any(prompt in unescape(text) for text in answers), prompt
    for page in (jobs, job, failed, *answers):
        assert "<script>alert" not in page
    assert HOSTILE in unescape(job)
