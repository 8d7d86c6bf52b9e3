"""Flow control: queues, resources, rates, shares."""
