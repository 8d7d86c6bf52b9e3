"""Costs of prompts before and after they are asked: prices, tokens, a job's estimate, and the mode that fits it."""
