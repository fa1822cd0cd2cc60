"""20,000 votes a second over DynamoDB's partition limits: four schemes, simulated and plotted."""
