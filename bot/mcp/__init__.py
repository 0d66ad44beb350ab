"""The Model Context Protocol: tools of other programs for our agents, and a few of ours for other programs.

Only this package knows the protocol's library, which is loaded when a server is configured or `carina mcp` runs.
"""
