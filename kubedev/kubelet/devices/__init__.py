"""The device manager: registration, capacity, the choice of devices, and the file that remembers it."""
