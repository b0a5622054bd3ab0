"""Widgets that draw what they are given: text is foreign and never read as markup."""
