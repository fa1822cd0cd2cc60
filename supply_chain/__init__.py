"""What the repository depends on: bills of materials, vulnerabilities, secrets."""
