import CutoverCLI
