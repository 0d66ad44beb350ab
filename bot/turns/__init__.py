"""One turn of an agent: what it is shown, what it does next, what it leaves behind."""
