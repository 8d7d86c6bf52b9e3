"""The dashboard: pages for people, a REST API for machines, one event stream for both (extra ``web``).

``answers`` reads what a question needs through the client and shapes it; ``pages`` and ``api`` show the same answers.
``acting`` is the only part that changes anything. A guard comes before every route. No SQL, no rule of the engine.
"""
