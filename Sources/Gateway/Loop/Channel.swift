import CLinux

/// Something with a file descriptor that hears about readiness and deadlines. Confined to its loop's thread.
class Channel {
    final fileprivate(set) var fd: Int32
    /// Place in the loop's table; -1 when not registered.
    final var slot = -1
    /// Loop time in milliseconds after which `timedOut()` is called; 0 = never. Set it through `EventLoop.setDeadline`.
    final var deadline: UInt64 = 0
    /// Tick of the wheel at which the loop will look at `deadline`; 0 = not in the wheel.
    final var wheelTick: UInt64 = 0
    /// What a client's connection has taken of the limits on connections; goes with the descriptor.
    final var place: ClientPlace?

    init(fd: Int32) { self.fd = fd }

    /// Stands for another descriptor from now on; only while it is not registered.
    final func adopt(fd: Int32) {
        precondition(slot < 0, "a registered channel keeps its descriptor")
        self.fd = fd
    }

    /// Readiness edges of epoll.
    func ready(_ events: UInt32) {}
    /// The deadline has passed; it is cleared before the call.
    func timedOut() {}
}
