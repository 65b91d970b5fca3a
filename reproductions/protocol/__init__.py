"""How a paper is run, measured, judged and published."""
