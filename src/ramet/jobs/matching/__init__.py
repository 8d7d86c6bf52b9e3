"""What is dropped, and why: stop lists, hard rejections, strikes."""
