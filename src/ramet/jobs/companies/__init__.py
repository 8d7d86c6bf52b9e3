"""The facts on a company's own pages, and the company's tier."""
