"""Providers of language models behind one protocol; see :mod:`ramet.llm.providers.base`."""
