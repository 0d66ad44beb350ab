"""Thin interfaces over the services: the command line, Discord, the socket. All are made from the registry."""
