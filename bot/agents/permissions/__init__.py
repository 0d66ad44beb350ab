"""Permissions: the policy that decides, the broker that stores requests and answers, and the cards that ask."""
