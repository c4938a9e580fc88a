"""The scheduler's plugins, one file a plugin, with what only they need."""
