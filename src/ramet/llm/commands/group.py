"""The commands `ramet llm ...`.

An error that a user can correct leaves as `LlmError` or `StoreError`: one line and exit status 2.
"""

from __future__ import annotations

import click

from ramet.llm.commands.inspect import results, status, watch
from ramet.llm.commands.operations import cancel, delete, resume
from ramet.llm.commands.submit import estimate_command, submit
from ramet.llm.commands.work import work_command


@click.group(short_help="Ask a language model a file of prompts.")
def llm() -> None:
    """Take a file of prompts through a provider of language models, under a ceiling of money.

    \b
      ramet llm estimate prompts.jsonl --model M      what it would cost
      ramet llm submit prompts.jsonl --model M --max-cost 5 --work
      ramet llm status                                all jobs
      ramet llm results JOB -o answers.jsonl          a row for each row, at any time
    """


for command in (submit, estimate_command, work_command, status, watch, results, cancel, resume, delete):
    llm.add_command(command)
