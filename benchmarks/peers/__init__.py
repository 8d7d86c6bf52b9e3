"""One file per queue: how it stores, submits and works, at the setting that is its best.

Each runs as a process of its own, in the environment of the peers. Nothing here imports ramet, except its own file.
"""
