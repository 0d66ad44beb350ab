"""How a provider's model is reached. No provider library is imported here."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Limits:
    """Seconds for one attempt, for silence within it, and for all models of a chain but the offline one."""

    attempt: float = 120
    silence: float = 45
    chain: float = 150
    tries: int = 3


@dataclass(frozen=True)
class Access:
    """`name` is "provider:model". Without a base URL the provider's own is used."""

    name: str
    limits: Limits
    key: str = field(default="", repr=False)
    base_url: str = ""

    @property
    def provider(self) -> str:
        return self.name.partition(":")[0]

    @property
    def model(self) -> str:
        return self.name.partition(":")[2]

    @property
    def context_window(self) -> int:
        """What to count on until the provider library says better: a server of one's own is often small."""
        return 32_000 if self.base_url else 128_000
