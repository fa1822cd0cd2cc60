"""What reads, writes and transactions cost, in capacity units, in several layouts of the table."""
