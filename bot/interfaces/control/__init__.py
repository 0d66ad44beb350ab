"""The control socket, through which commands, terminal chats and other programs reach the running service."""
