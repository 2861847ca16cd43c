// HTTPWire
