"""Embedders, local or over HTTP, and the vectors of questions within a time limit."""
