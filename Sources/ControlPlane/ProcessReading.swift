import CLinux
import Telemetry

/// Reads the process's own figures from the system; what cannot be read is 0.
func readProcessFigures() -> ProcessFigures {
    var figures = ProcessFigures()
    var usage = rusage()
    if clinux_own_usage(&usage) == 0 {
        figures.cpuSeconds =
            Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    }
    let page = UInt64(sysconf(Int32(_SC_PAGESIZE)))
    let statm = readText("/proc/self/statm").split(separator: " ").compactMap { UInt64($0) }
    if statm.count > 1 {
        figures.virtualMemoryBytes = statm[0] * page
        figures.residentMemoryBytes = statm[1] * page
    }
    figures.openDescriptors = countEntries("/proc/self/fd")
    figures.maxDescriptors = clinux_descriptor_limit()
    figures.startTimeSeconds = programBegan
    return figures
}

/// When this program began, in seconds since 1970; first asked for by `GatewayServer`. Not the process: an upgrade leaves that as it
/// is, while every counter begins anew.
let programBegan = Double(clinux_wall_milliseconds()) / 1000

private func readText(_ path: String) -> String {
    let file = clinux_open(path, O_RDONLY, 0)
    guard file >= 0 else { return "" }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(file, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
}

private func countEntries(_ path: String) -> UInt64 {
    guard let directory = opendir(path) else { return 0 }
    defer { closedir(directory) }
    var count: UInt64 = 0
    while readdir(directory) != nil { count += 1 }
    // ".", ".." and the directory's own descriptor.
    return count > 3 ? count - 3 : 0
}
