"""What the commands need of AWS: the deployed stack, its table, and its functions."""
