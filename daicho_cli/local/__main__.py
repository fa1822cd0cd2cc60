"""``python -m daicho_cli.local``: for the process that plays DynamoDB's TTL."""

from daicho_cli.local.group import app

if __name__ == "__main__":
    app()
