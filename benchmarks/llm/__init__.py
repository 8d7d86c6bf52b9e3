"""What the llm pipeline costs: batches, and chat beside a plain loop and another runner."""
