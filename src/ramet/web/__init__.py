"""The dashboard: pages for people, a REST API for machines, one event stream for both (extra ``web``).

``views`` read through the client what a question needs; their pages and their API routes show the same answers.
``actions`` is the only package that changes anything for an operator. A guard comes before every route. No SQL, no rule
of the engine.
"""
