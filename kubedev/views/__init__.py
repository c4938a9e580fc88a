"""Graph, figure, table and sentence from a state; the live widgets."""
