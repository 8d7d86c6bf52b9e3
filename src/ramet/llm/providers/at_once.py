"""What providers have in common whose call is answered at once and kept by nobody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import ClassVar

from ramet.llm.errors import Ambiguous
from ramet.llm.providers.base import CHAT_CAPS, Answer, AnswerState, Mode, Poll, PollState, Submission
from ramet.llm.providers.openai_answers import UNREADABLE
from ramet.llm.providers.sdk_calls import Reply


class AnswersAtOnce:
    """A provider in mode chat. Nothing is kept at the provider, so there is nothing to poll, cancel or find.

    A call whose connection breaks may have been answered and billed: that is `Ambiguous`, and stays so.
    """

    mode = Mode.CHAT
    caps = CHAT_CAPS
    calls: ClassVar[str]
    """The provider's own word for what is asked."""

    async def poll(self, remote_id: str, *, seconds: float) -> Poll:
        """An answered call is not kept: it is lost to whoever did not read it."""
        return Poll(PollState.LOST, "unknown", error=f"{self.calls} are not kept at the provider")

    async def cancel(self, remote_id: str, *, seconds: float) -> None:
        """Nothing is running once the call is over."""

    async def results(self, remote_id: str, *, seconds: float) -> AsyncIterator[Answer]:
        """None: the submit brought it."""
        nothing: tuple[Answer, ...] = ()
        for answer in nothing:
            yield answer

    async def find(self, submit_key: str, *, seconds: float, submitted_at: float | None = None) -> str | None:
        """Not possible."""
        raise NotImplementedError(f"{self.calls} cannot be looked up")


def submission(answer: Answer, reply: Reply, submit_key: str, host: str) -> Submission:
    """What a call brought.

    Raises:
        Ambiguous: it was answered, and nobody can tell with what.
    """
    if answer.state is AnswerState.FAILED and answer.code == UNREADABLE:
        raise Ambiguous(f"{host} answered, but {answer.error}")
    return Submission(answer.response_id or submit_key, answer, reply.rates)
