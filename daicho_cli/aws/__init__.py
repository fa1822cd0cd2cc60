"""Access to AWS for the commands: the deployed stack, its table, and its functions."""
