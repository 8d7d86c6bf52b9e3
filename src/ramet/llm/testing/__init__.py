"""Our own fake of a provider: a stand-in that speaks a part of OpenAI's API, for tests, benchmarks and first steps.

It exists since no server that others wrote speaks background mode with faults. Its answers are checked against the
types of OpenAI's SDK by the tests; it proves nothing about OpenAI itself. It has no model: an answer is a digest of the
prompt and its last words. It listens on this machine only, and reaches nothing.

``python -m ramet.llm.testing --port 0`` runs it; :class:`~ramet.llm.testing.server.StandIn` is the same inside a test.
Faults are given by a :class:`~ramet.llm.testing.script.Script`, or by marks in the prompts. ``GET /journal`` shows what
it accepted, and what that cost in tokens.
"""
