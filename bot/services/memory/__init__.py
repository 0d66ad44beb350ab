"""The contents of memory, and what people can do with them."""
