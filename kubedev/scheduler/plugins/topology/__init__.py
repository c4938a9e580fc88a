"""The plugins that look at the pods of a whole domain: InterPodAffinity and PodTopologySpread."""
