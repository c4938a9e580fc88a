"""The node's side: registration, device manager, topology manager, CPU manager, admission."""
