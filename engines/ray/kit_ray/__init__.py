"""The Ray engine's part in the cluster: it runs kit_engine's training on Ray Train's workers."""
