"""Chat mode against a server that answers at once, beside a plain loop over the SDK and another batch runner.

    python -m benchmarks.llm.chat                              # 10,000 prompts, 64 calls in flight
    python -m benchmarks.llm.chat --peer-python /tmp/peer/bin/python --latency 0.2

The server is a few lines of asyncio in a process of its own, so that it costs next to nothing. Each entrant is a whole
command in processes of its own, from its start to the file of answers: `ramet llm submit --work` and `results`, the
plain loop (openai's SDK, as many tasks as calls in flight, a line of JSON for each answer), and flexllm's chat_batch
where ``--peer-python`` names an environment that has flexllm (``pip install flexllm`` into a new one). Processor time
is that of all processes of an entrant. Prints JSON with ratios to the plain loop.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.llm.steps import MAX_OUTPUT_TOKENS, MODEL, write_input

SELF = (sys.executable, "-m", "benchmarks.llm.chat")
RAMET = (sys.executable, "-m", "ramet.cli", "llm")
ENVIRONMENT = {**os.environ, "OPENAI_API_KEY": "none"}
_BODY = json.dumps({
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": MODEL,
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Reykjavik"}}],
    "usage": {"prompt_tokens": 50, "completion_tokens": 3, "total_tokens": 53},
}).encode()  # fmt: skip
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(_BODY) + _BODY


class InstantAnswers(asyncio.Protocol):
    """One connection of the server: every request has the same answer, after ``latency_seconds``."""

    latency_seconds = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what answers are written to."""
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._read = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answer each request that is whole."""
        self._read += data
        while (end := self._read.find(b"\r\n\r\n")) >= 0:
            head = self._read[:end].lower()
            at = head.find(b"content-length:")
            size = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._read) < end + 4 + size:
                return
            self._read = self._read[end + 4 + size :]
            if self.latency_seconds:
                asyncio.get_running_loop().call_later(self.latency_seconds, self._transport.write, ANSWER)
            else:
                self._transport.write(ANSWER)


async def serve(latency_seconds: float) -> None:
    """Answer until the process is ended; prints its address first."""
    InstantAnswers.latency_seconds = latency_seconds
    server = await asyncio.get_running_loop().create_server(InstantAnswers, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


async def plain_loop(questions: Path, url: str, concurrency: int, answers: Path) -> None:
    """Ask through the SDK alone, with so many tasks, and write a line for each answer."""
    from openai import AsyncOpenAI

    async with AsyncOpenAI(api_key="none", base_url=url) as sdk:
        with questions.open(encoding="utf-8") as asked, answers.open("w", encoding="utf-8") as kept:
            rows = map(json.loads, asked)

            async def work() -> None:
                for row in rows:
                    reply = await sdk.chat.completions.create(
                        model=MODEL, messages=[{"role": "user", "content": row["prompt"]}], max_tokens=MAX_OUTPUT_TOKENS
                    )
                    kept.write(json.dumps({"id": row["id"], "text": reply.choices[0].message.content}) + "\n")

            await asyncio.gather(*(work() for _ in range(concurrency)))


FLEXLLM = """
import asyncio, json, sys
from flexllm import LLMClient
asked, url, concurrency, answers = sys.argv[1:]
rows = [json.loads(line) for line in open(asked)]
async def main():
    client = LLMClient(model=MODEL, base_url=url, api_key="none", concurrency_limit=int(concurrency), max_qps=None)
    texts = await client.chat_completions_batch(
        [[{"role": "user", "content": row["prompt"]}] for row in rows], max_tokens=MAX_OUTPUT_TOKENS,
        show_progress=False)
    with open(answers, "w") as kept:
        for row, text in zip(rows, texts):
            kept.write(json.dumps({"id": row["id"], "text": text}) + "\\n")
asyncio.run(main())
""".replace("MODEL", repr(MODEL)).replace("MAX_OUTPUT_TOKENS", str(MAX_OUTPUT_TOKENS))


@contextmanager
def serving(latency_seconds: float) -> Iterator[str]:
    """The server in its own process; its address."""
    process = subprocess.Popen([*SELF, "--serve", str(latency_seconds)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate()


def timed(*commands: Sequence[str]) -> dict[str, float]:
    """Run commands one after another; wall seconds and processor seconds of all their processes.

    Raises:
        SystemExit: one did not end well.
    """
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    for command in commands:
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=ENVIRONMENT)
        if done.returncode:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    seconds, used = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2)}


def measure(items: int, concurrency: int, latency_seconds: float, folder: Path, peer: str | None) -> dict[str, Any]:
    """All entrants, one after another, in one run."""
    questions = folder / "questions.jsonl"
    write_input(questions, items)
    outputs = {name: folder / f"{name}.jsonl" for name in ("ramet", "plain", "flexllm")}
    database, found = str(folder / "llm.db"), dict[str, dict[str, float]]()
    with serving(latency_seconds) as url:
        asked = (str(questions), url, str(concurrency))
        found["plain"] = timed((*SELF, "--plain", *asked, str(outputs["plain"])))
        found["ramet"] = timed(
            (*RAMET, "submit", str(questions), "--base-url", url, "--model", MODEL, "--price", "1:2", "--max-cost",
             "1000", "--max-output-tokens", str(MAX_OUTPUT_TOKENS), "--concurrency", str(concurrency), "--job", "chat",
             "--work", "--db", database),
            (*RAMET, "results", "chat", "-o", str(outputs["ramet"]), "--db", database),
        )  # fmt: skip
        if peer:
            found["flexllm"] = timed((peer, "-c", FLEXLLM, *asked, str(outputs["flexllm"])))
    for name in found:
        with outputs[name].open(encoding="utf-8") as lines:
            answered = sum(json.loads(line)["text"] == "Reykjavik" for line in lines)
        if answered != items:
            sys.exit(f"{name}: {answered} of {items} prompts were answered")
    return report(items, found)


def report(items: int, found: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Each entrant's figures, and their ratios to the plain loop's."""
    plain = found["plain"]
    return {
        "items": items,
        **{
            name: {
                "items_per_s": round(items / one["seconds"], 1),
                "cpu_ms_per_item": round(one["cpu_seconds"] / items * 1e3, 3),
                "speed_to_plain": round(plain["seconds"] / one["seconds"], 2),
                "cpu_to_plain": round(one["cpu_seconds"] / plain["cpu_seconds"], 2),
            }
            for name, one in found.items()
        },
    }


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llm.chat", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds that the server waits before it answers")
    parser.add_argument("--peer-python", metavar="PATH", help="the Python of an environment that has flexllm")
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--plain", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve is not None:
        asyncio.run(serve(asked.serve))
    elif asked.plain:
        questions, url, concurrency, answers = asked.plain
        asyncio.run(plain_loop(Path(questions), url, int(concurrency), Path(answers)))
    else:
        with tempfile.TemporaryDirectory() as folder:
            told = measure(asked.items, asked.concurrency, asked.latency, Path(folder), asked.peer_python)
            print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
