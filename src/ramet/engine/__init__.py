"""Running work: apps, clients, workers, contexts.

Loops, processes, threads and signals live here; SQL, HTTP and command lines do not. The engine asks the store for
claims, runs handlers, and hands their outcomes back under the claim's fence.
"""
