"""The `dohnuts` engine: dohnuts.cpp and its model profiles."""
