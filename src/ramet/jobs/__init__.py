"""The jobs pipeline (extra ``jobs``): companies, their boards, the listings on them, and which of these fit a person.

In it *job* means employment only; a unit of work is a task.
"""
