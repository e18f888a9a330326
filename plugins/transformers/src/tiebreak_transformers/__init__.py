"""The `transformers` engine of tiebreak: Hugging Face models on PyTorch; see `hooks`."""
