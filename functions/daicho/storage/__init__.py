"""DynamoDB and S3 as the library sees them: keys, attribute values, requests, and the clients."""
