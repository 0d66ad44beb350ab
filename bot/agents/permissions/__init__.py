"""Permissions: the policy, the broker of requests and answers, and the approval cards."""
