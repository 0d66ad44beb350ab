"""The control socket, by which commands, chats at the terminal and other programs reach the running service."""
