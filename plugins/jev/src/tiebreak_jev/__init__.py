"""The `jev` plugin: hosted System One models, and any server that speaks their protocol."""
