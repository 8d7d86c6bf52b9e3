"""Providers of language models behind one protocol; see :mod:`ramet.pipelines.llm.providers.base`."""
