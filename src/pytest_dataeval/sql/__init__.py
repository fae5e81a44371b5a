"""Reading SQL without running it: the only layer that knows sqlglot.

Every function is pure: text and a dialect in, a frozen value out. Dialects are
sqlglot's names (`duckdb`, `postgres`, `tsql`, `sqlite`); the names that
SQLAlchemy uses (`postgresql`, `mssql`) are understood too. Import from the
modules: `guard`, `tables`, `fields`, `outputs`, `protect`, `order`, `rewrite`.
"""
