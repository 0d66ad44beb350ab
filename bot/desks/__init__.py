"""What people ask for and change, for any front end: Discord, the command line, the control socket.

A desk knows who asks and from where: every answer is scoped, every change decided by `bot.policy`. Turns know nothing
of desks.
"""
