"""The program against the reference implementation's own network, on this machine: PLC, PDS and AppView."""
