"""Who may do what, and what is stored about whom."""
