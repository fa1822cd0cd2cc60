"""The systems: one file each, declarations first, then routes. The place to add your own."""
