"""The plugin's side: devices, their health, preferred allocation, what Allocate answers."""
