"""The process: communication with Kit, devices, errors and limits."""
