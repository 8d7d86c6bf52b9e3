"""From a file of prompts to requests: streamed, and every line that cannot be taken is refused by its number.

Nothing here knows a provider or the engine. :mod:`ramet.llm.inputs.reading` is the way in.
"""
