"""The alarms of a stage, whom they notify, and its dashboard."""
