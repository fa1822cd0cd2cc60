"""The laptop: the local AWS, its deployment, DynamoDB's TTL process, and demo data."""
