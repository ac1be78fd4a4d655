"""Reads a running cluster, plans it and explains its pods, without writing to it."""
