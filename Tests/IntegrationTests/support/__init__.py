"""What the integration tests share: the gateway under test, backends that can be scripted, and strict clients."""
