"""The client against the real service: $STORAGE_RPC names the program."""
