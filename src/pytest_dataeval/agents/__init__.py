"""Who is asked: the contract, the built-in agents, and how one is found."""
