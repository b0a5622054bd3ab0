"""What the console knows: frozen slices, changed by events that tell what happened. Pure: no clock, file or socket.

    state = update(state, event)

One reducer a slice, in the file of the slice's name; a slice that an event does not concern stays the same object.
"""
