"""Erasing messages with everything derived from them, and people with all their data in one constellation.

`bot.services.people.person_erasure` erases a person in all of them.
"""
