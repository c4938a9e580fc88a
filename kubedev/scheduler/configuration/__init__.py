"""KubeSchedulerConfiguration: read, defaulted, validated, and turned into profiles (`load_configuration`)."""
