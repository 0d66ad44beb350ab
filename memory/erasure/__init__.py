"""Erasing messages with everything derived from them, and people with all their data in one constellation.

`bot.services.people.erasure_everywhere` erases a person in all of them.
"""
