"""The program `pytest-dataeval`: what can be done without asking an agent."""
