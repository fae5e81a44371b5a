"""Hooks of this repository's own golden questions would stand here.

pytest-xdist's controller imports only this conftest, the one of the root folder,
so hooks that run on the controller belong here and not in a folder below.
"""
