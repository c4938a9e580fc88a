"""The commands, one file each. Nobody imports this room: `kubedev COMMAND` asks for it by name."""
