"""The routes of operators, one module for each kind of thing that they work on."""
