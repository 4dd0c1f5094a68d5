"""Runs of an archive → files in the formats of others."""
