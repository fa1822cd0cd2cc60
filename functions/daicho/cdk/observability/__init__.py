"""The alarms of a ledger, whom they notify, and its dashboard."""
