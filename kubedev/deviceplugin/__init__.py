"""The plugin's side: devices, their health, preferred allocation, what Allocate answers; what it owes its kubelet."""
