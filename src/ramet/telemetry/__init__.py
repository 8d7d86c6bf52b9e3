"""Output for machines that watch: metrics, traces and alerts that leave the machine.

On the engine's public API only; each has an extra of its own, and nothing here is imported unless it is asked for.
"""
