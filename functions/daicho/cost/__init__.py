"""Estimates of capacity units and dollars, from declarations and a description of the traffic."""
