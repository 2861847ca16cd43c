"""The parts of `make bench`, each some rows of the table of targets: `run(options)` measures and returns a section."""
