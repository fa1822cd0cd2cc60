"""What `daicho export` is made of."""
