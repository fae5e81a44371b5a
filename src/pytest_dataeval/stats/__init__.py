"""What may be claimed from verdicts: intervals, paired tests, repeats, rates.

Every function is pure and needs the standard library alone, so that each figure
can be checked with pencil and paper. Rates are fractions 0..1 everywhere;
`formatting` makes percentages. Import from the modules: `intervals`, `paired`,
`repeats`, `rates`, `formatting`.
"""
