"""``python -m daicho_cli.local``: for the process that simulates DynamoDB's TTL."""

from daicho_cli.local.group import app

if __name__ == "__main__":
    app()
