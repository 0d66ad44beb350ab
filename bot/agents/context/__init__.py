"""What a model is shown in a turn: prompt, history, blocks, facts, situation."""
