"""The plugins that look at volumes: VolumeRestrictions, NodeVolumeLimits, VolumeZone and VolumeBinding."""
