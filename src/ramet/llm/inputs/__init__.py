"""From a file of prompts to requests: streamed, and every line that cannot be taken is refused by its number.

Nothing here knows a provider or the engine. :mod:`ramet.llm.inputs.prompt_file` is the way in.
"""
