"""Polite, guarded fetching for handlers: public addresses only, bounded answers, robots.txt, a pace for each host."""
