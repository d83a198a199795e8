// Backends
