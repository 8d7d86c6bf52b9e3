"""The dashboard's pages about jobs of questions to models: money, errors by kind, answers beside their prompts."""

from ramet.llm.dashboard.views import pages

__all__ = ["pages"]
