"""What agents know besides the transcript: one store (`items`), and small modules with the rules of each kind."""
