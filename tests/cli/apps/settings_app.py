"""An app with a setting of its own."""

from __future__ import annotations

from ramet import App, Setting

app = App(settings=[Setting("own.colour", "string", "red", "", "a colour", "the test")])
