"""``daicho redrive``: calls the function until nothing is left, and shows the result."""
