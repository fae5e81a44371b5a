"""Runnable generators of the demonstration warehouses."""
