"""The observer of traces as an installed package: found by this interpreter, and by those that it starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from ramet.engine.base.observe import OBSERVERS, RATIO, TRACES, observer, traces_ratio
from ramet.telemetry.traces import MEMORY


def use_program_provider() -> None:
    """As a program does that traces by itself: its spans go into memory too."""
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(MEMORY))
        trace.set_tracer_provider(provider)


def install(folder: Path, name: str = "traces", target: str = "ramet.telemetry.traces:make") -> Path:
    """Write a package that declares the observer; its folder goes on the path of whoever is to find it."""
    about = folder / f"observer_{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: observer-{name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[ramet.observers]\n{name} = {target}\n")
    return folder


@contextmanager
def observed(folder: Path, traces: str = "memory", ratio: str = "1", observers: str = "") -> Iterator[None]:
    """Let this process be observed while the block runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(TRACES, traces)
        patch.setenv(RATIO, ratio)
        patch.setenv(OBSERVERS, observers)
        patch.syspath_prepend(folder)
        forget()
        yield
    forget()


def forget() -> None:
    """Look at the environment anew."""
    observer.cache_clear()
    traces_ratio.cache_clear()
