"""The scheduling queue: where a pending pod waits, and what lets it move on."""
