"""The patches: each module here is one, with a `PATCH` whose id is the module's name with `-` for `_`.

To add one, write `catalog/my_patch.py`, and `runtime/my_patch.py` for what runs inside the server:

    PATCH = Patch(
        id="my-patch",
        title="One line for the list of patches",
        env="MY_DEBUG",
        helper=runtime_file("my_patch.py", path="srt/_spec_console_my_patch.py"),
        edits=(FileEdit("srt/layers/logits_processor.py", (Insert("my.site", ANCHOR, "after", "record(self)"),)),),
    )
"""
