"""The Model Context Protocol: tools of external servers for our agents.

Only this package and `bot.interfaces.mcp` know the protocol's library. It is loaded when a server is configured or
`carina mcp` runs.
"""
