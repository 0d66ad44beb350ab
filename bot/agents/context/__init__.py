"""The context of a model in a turn: prompt, history, blocks, facts, situation."""
