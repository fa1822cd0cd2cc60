"""Costs of reads, writes and transactions in capacity units, in several layouts of the table."""
