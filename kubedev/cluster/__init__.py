"""Store and watch, clock, history; puts nodes, plugins and scheduler together."""
