"""What only Parquet or a schema needs is not loaded before it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process


def test_reading_and_writing_load_nothing_of_the_extras() -> None:
    program = """
import sys
import ramet.llm.answers, ramet.llm.inputs.prompt_file, ramet.llm.results
print(sorted(set(sys.modules) & {"jsonschema_rs", "pyarrow", "openai", "anthropic", "genai_prices"}))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
