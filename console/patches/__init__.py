"""Patches to an installed SGLang: where they go, what they insert, and what that would do to a file.

Pure: texts come in, plans go out. `library` knows the catalog, `plan` says what would happen to each file,
`anchor` finds places by syntax tree, `edit` inserts whole lines and takes them out again. `user` makes a patch of a
user's folder, `import_diff` a plan of a unified diff.
"""
