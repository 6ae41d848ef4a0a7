"""One implementation of each kind of chart, over tidy tables, in Altair.

    from gauntlet.figures.against import against
    against(table, Quantity("Loss", "%"), Quantity("Throughput", "Mbit/s"))

Each file is one kind: a function that draws a tidy table (a mapping of columns, or a table of Polars, pandas
or Arrow; its docstring names the columns) and, where a study's figures.toml can ask for it, its options and
`KIND`. `registry` lists those. Reports, studies and notebooks draw by the same functions.
"""
