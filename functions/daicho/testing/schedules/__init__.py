"""Random schedules of writes, deliveries and faults: played, shrunk and told."""
