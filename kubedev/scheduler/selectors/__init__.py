"""Selectors, parsed: which labels and which nodes they match."""
