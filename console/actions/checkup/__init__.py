"""doctor NODE: what was measured of a node and of the way there, a line each, with what to do next."""
