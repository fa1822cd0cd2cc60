"""What any process needs: a clock, retries within a deadline, a rate limit, and its settings."""
