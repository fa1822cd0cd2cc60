"""What DynamoDB checks in a request before it reads or changes an item."""
