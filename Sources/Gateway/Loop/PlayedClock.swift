#if DEBUG
    import CLinux

    // The seam through which tests play time. SwiftPM does not hand its DEBUG to the importer of C headers, so it cannot be in
    // the inline functions of CLinux: these two take their place for the whole module, in debug builds only. A release build
    // does not have this file.

    /// The monotonic clock in nanoseconds, or what is played on this thread in its place.
    func clinux_monotonic_nanoseconds() -> UInt64 {
        let played = clinux_played_monotonic_nanoseconds()
        return played == 0 ? CLinux.clinux_monotonic_nanoseconds() : played
    }

    /// The wall clock in milliseconds since 1970, or what is played on this thread in its place.
    func clinux_wall_milliseconds() -> Int64 {
        clinux_played_monotonic_nanoseconds() == 0
            ? CLinux.clinux_wall_milliseconds() : clinux_played_wall_milliseconds()
    }
#endif
