"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# How fast an example is depends on who else uses the machine: pytest's own time limit ends what hangs.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
