"""llama.cpp in this process: tiebreak's default engine."""
