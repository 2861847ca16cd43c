"""The parts of `make bench`, each a row or more of the table of targets: `run(options)` measures and returns its section."""
