// ControlPlane
