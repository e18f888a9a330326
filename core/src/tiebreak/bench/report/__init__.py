"""The report on a benchmark: `writing` reads results.json and leaves report.md and report.html beside it.

`run`, `caches` and `clients` make chapters of sections; `markdown` and `page` write them down; `canvas` is the only
module that knows matplotlib, and imports it when the first plot is drawn.
"""
