"""One screen a file; the file's stem stands in `keys.SCREENS` and exposes SCREEN.

class MyScreen(ConsoleScreen):
    '''What it shows.'''

    def body(self) -> ComposeResult: ...       # its widgets
    def show(self, state: ConsoleState) -> None: ...    # called with each new state while it is current

SCREEN = MyScreen
"""
