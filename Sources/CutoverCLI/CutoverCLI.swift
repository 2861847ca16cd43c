// CutoverCLI
