"""The process: how it speaks with Kit, what it runs on, and how it fails."""
