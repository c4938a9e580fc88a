"""The vocabulary: quantities, names, objects and messages as plain values."""
