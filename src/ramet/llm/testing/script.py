"""Behaviour and faults of the stand-in: a script for all, and marks in prompts for single ones.

A mark is ``[[name]]`` or ``[[name words]]`` in a prompt.

==========================  ============================================================================
mark                        what it does
==========================  ============================================================================
``[[429 times=2 after=7]]``  the first two submits of this prompt are refused; any status; `times` is 1 if
                            not given, ``after`` is sent as Retry-After, ``code`` as the error's code
``[[drop]]``                the connection is closed before the request is accepted (``times=``)
``[[drop_accepted]]``       it is accepted and answered with a closed connection
``[[hang]]``                accepted, and never answered
``[[malformed]]``           accepted, and answered with JSON that is cut off
``[[poll_500]]``            the same at polls: any of the above after ``poll_``, ``cancel_``
``[[upload_429]]``          of a batch, in its first line: at the upload, ``batch_`` at its creation,
                            ``results_drop`` in the middle of its output; ``[[batch_404]]``: its file
                            is not to be seen yet
``[[polls 5]]``             five polls find it queued or in progress
``[[never]]``               it never ends
``[[lost]]``                accepted and billed; the second poll finds nothing
``[[failed code]]``         it ends as failed; the code is ``server_error`` if not given; of a batch's line
                            with ``times=`` only so often
``[[incomplete]]``          it is cut off by the token limit; ``[[filter]]``: by a filter
``[[refusal]]``             the model refuses
``[[cancelled]]``           it ends as cancelled without a request for that
``[[late]]``                it completes though it was cancelled
``[[answer words]]``        these words are the answer; ``[[invalid]]``: one that fits no schema
``[[cached 8]]``            eight of the input's tokens were cached
``[[no_usage]]``            the answer does not tell its tokens
``[[tool]]``                it calls a tool
``[[missing]]``             of a batch: no line answers it; ``[[garbled]]``: a line that is not JSON;
                            ``[[expired]]``: its line tells that it expired
``[[fate expired]]``        of a batch, in its first line: completed, failed, expired, cancelled or never
==========================  ============================================================================
"""

from __future__ import annotations

import random
import re
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

_MARK = re.compile(r"\[\[([a-z_0-9]+)(?: ([^\[]*?))?\]\]")
_FAULTS = {"drop", "drop_accepted", "hang", "malformed"}


@dataclass(frozen=True, slots=True)
class Script:
    """Settings for every request."""

    queued_polls: int = 1
    """Polls that find a response queued."""
    running_polls: int = 1
    """Further polls that find it in progress."""
    seconds: float = 0.0
    """A response or batch ends this long after its creation at the earliest, however often it is polled."""
    latency_seconds: float = 0.0
    """Every call is answered this much later."""
    forget_polls: int | None = None
    """Number of polls after the end that are answered; later ones find nothing."""
    forget_seconds: float | None = None
    """A response is forgotten this long after its creation, ended or not."""
    batch_polls: int = 2
    """Polls that find a batch alive."""
    part_done: float = 0.5
    """How much of an expired or cancelled batch was done."""
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    chances: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Probability by fault, on ``submit``, ``poll``, ``cancel``, ``upload``, ``batch``, ``results`` or ``list``."""
    retry_after: float | None = None
    """Sent with every refusal that happens by chance."""
    seed: int = 0
    keeps_metadata: bool = True
    """Some servers forget what was sent along."""
    ignores_background: bool = False
    """Some servers answer a background call at once."""
    batch_failures: int = 0
    """Number of the first batches that end as failed, with the code below."""
    batch_failure_code: str = "token_limit_exceeded"
    """Code of a batch that failed as a whole."""
    list_most: int = 100
    """Batches on a page of their list."""


def script_from(values: Mapping[str, Any]) -> Script:
    """Return a script out of JSON.

    Raises:
        ValueError: it has a name that no script has.
    """
    known = {part.name for part in fields(Script)}
    unknown = sorted(set(values) - known)
    if unknown:
        raise ValueError(f"a script has no {unknown[0]!a}: it has {', '.join(sorted(known))}")
    return Script(**values)


@dataclass(frozen=True, slots=True)
class Fault:
    """Fault of one call."""

    kind: str
    """A status, or ``drop``, ``drop_accepted``, ``hang``, ``malformed``."""
    after: str | None = None
    """Retry-After, as it is sent."""
    code: str | None = None
    """Code of the error, where it is a refusal."""

    @property
    def status(self) -> int | None:
        """HTTP status, where it is a refusal."""
        return int(self.kind) if self.kind.isdigit() else None


def marks_in(text: str) -> dict[str, str]:
    """Return the marks of a prompt: name -> words. The last one of a name counts."""
    return {name: words or "" for name, words in _MARK.findall(text)} if "[[" in text else {}


def without_marks(text: str) -> str:
    """Return a prompt without its marks."""
    return " ".join(_MARK.sub(" ", text).split())


class Faults:
    """Decides what goes wrong with a call. Safe for threads."""

    def __init__(self, script: Script) -> None:
        """Nothing went wrong yet."""
        self._script = script
        self._random = random.Random(script.seed)
        self._seen: Counter[tuple[str, str, str]] = Counter()
        self._lock = threading.Lock()

    def next(self, on: str, whose: str, marks: Mapping[str, str]) -> Fault | None:
        """Return the fault of a call ``on`` something, if there is one.

        Args:
            on: ``submit``, ``poll``, ``cancel``, ``upload``, ``batch``, ``results`` or ``list``.
            whose: tells one prompt, or one submission, from another.
            marks: of the prompt.
        """
        prefix = "" if on == "submit" else on + "_"
        with self._lock:
            for name, words in marks.items():
                kind = name.removeprefix(prefix)
                if name.startswith(prefix) and (kind in _FAULTS or (kind.isdigit() and len(kind) == 3)):
                    options = dict(part.split("=", 1) for part in words.split() if "=" in part)
                    self._seen[on, whose, name] += 1
                    if self._seen[on, whose, name] <= int(options.get("times", "1")):
                        return Fault(kind, options.get("after"), options.get("code"))
            for kind, chance in self._script.chances.get(on, {}).items():
                if self._random.random() < chance:
                    after = self._script.retry_after
                    return Fault(kind, None if after is None else f"{after:g}")
        return None
