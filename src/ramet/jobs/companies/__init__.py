"""What a company's own pages tell, and how much the company is worth a look."""
