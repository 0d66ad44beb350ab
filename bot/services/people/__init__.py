"""Who may do what, and what is kept about whom."""
