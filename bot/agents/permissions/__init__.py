"""Permissions: who may do what, the broker of requests and answers, and the approval cards."""
