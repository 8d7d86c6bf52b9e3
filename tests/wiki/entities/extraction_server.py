"""A stand-in for a provider that finds entities: the names in a text, and that each is before the next."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from unittest.mock import patch

from ramet.llm.testing import answers
from ramet.llm.testing.script import Script
from ramet.llm.testing.server import StandIn

_NAME = re.compile(r"[A-Z]\w+(?: [A-Z]\w+)*")


def names_in(text: str) -> str:
    """The answer to a section: every name is a person, and each comes before the next."""
    names = list(dict.fromkeys(_NAME.findall(text)))
    entities = [{"name": name, "kind": "person", "aliases": []} for name in names]
    relations = [{"source": one, "kind": "is before", "target": two} for one, two in pairwise(names)]
    return json.dumps({"entities": entities, "relations": relations})


class Extractor:
    """What was asked, and how often each text was."""

    def __init__(self, standin: StandIn, asked: Counter[str]) -> None:
        self.url = standin.url
        self.asked = asked
        self._standin = standin

    def billed(self, per_input: int, per_output: int) -> int:
        """Nano-dollars for all that was answered, at prices of a token in nano-dollars."""
        entries = self._standin.world.journal.entries()
        return sum(one.input_tokens * per_input + one.output_tokens * per_output for one in entries)


@contextmanager
def extractor(answer: Callable[[str], str] = names_in, *, latency_seconds: float = 0.0) -> Iterator[Extractor]:
    """Answer every section of its text with `answer`."""
    asked: Counter[str] = Counter()

    def found(ask: answers.Ask) -> str:
        question, _ = json.JSONDecoder().raw_decode(ask.text[ask.text.index('{"article": ') :])
        asked[question["text"]] += 1
        return answer(question["text"])

    script = Script(queued_polls=0, running_polls=0, latency_seconds=latency_seconds)
    with patch.object(answers, "answer_text", found), StandIn(script) as standin:
        yield Extractor(standin, asked)
