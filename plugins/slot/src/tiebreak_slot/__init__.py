"""The `slot` engine of tiebreak: a stock llama-server, asked for one token, read at one answer slot."""
