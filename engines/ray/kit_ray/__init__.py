"""The Ray engine's code on the cluster: runs kit_engine's training on Ray Train's workers."""
