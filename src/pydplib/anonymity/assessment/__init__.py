"""What a table gives away and what it is still good for: verification, risk, utility, advice."""
