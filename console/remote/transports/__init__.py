"""One file a transport; each is the only home of the library it needs."""
