"""An observer that fails whatever it is told."""

from __future__ import annotations

from typing import Any


class Broken:
    """Every method raises."""

    def __getattr__(self, name: str) -> Any:
        def fail(*arguments: object, **options: object) -> None:
            raise RuntimeError(f"{name} is broken")

        return fail
