"""The MCP server that offers tools of our agents to other programs."""
