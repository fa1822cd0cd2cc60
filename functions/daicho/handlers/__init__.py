"""A module for each Lambda function: `build` wires it up, and Lambda loads its ``handler``."""
