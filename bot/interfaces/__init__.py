"""Thin interfaces over the services: the command line, Discord, the socket. All are built from the registry."""
