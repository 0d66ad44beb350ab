"""Short digests in place of texts, where there is no room for the text: in the id of a form."""

import hashlib


def text_mark(text: str, size: int = 6) -> str:
    """A digest of twice `size` hexadecimal digits; different texts have different digests, except by chance."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()
