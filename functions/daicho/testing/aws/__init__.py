"""DynamoDB, its streams, Lambda's event source mapping and S3, in memory and without threads."""
