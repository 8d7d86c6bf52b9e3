"""Pure rules of a task's life.

The package holds the transitions, the spawn guard, lineage arithmetic, limits, retries and keys. Nothing here may do
I/O, read a clock, draw a random number or log: time and chance are arguments. Everything above trusts these rules, so
every cell of them is tested.
"""
