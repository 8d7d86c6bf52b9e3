"""What a listing's text says, by rules: seniority, arrangement, salary, years, technologies, places."""
