"""Reasons to drop a listing: stop lists, hard rejections, strikes."""
