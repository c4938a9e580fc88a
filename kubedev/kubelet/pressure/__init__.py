"""A node under pressure: what pods may have of it, when pods are evicted and which, and what reaches their cgroups."""
