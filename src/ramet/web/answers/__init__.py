"""What a question needs, read through the client and shaped for pages and the API alike; every read is bounded."""
