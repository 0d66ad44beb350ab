"""What agents know beside what was said: one store (`items`) and small modules with the rules of each kind."""
