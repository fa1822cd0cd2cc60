"""The domains of {{title}}: one file each, declarations first, then routes."""
