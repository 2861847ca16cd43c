import CLinux
import Configuration

/// What tells this gateway from others in alerts: the machine and the port of the admin listener, as a scraper would say.
/// - Parameter port: the one that is listened on, which the settings may leave open; nil while nothing listens.
func gatewayName(_ settings: Settings, port: UInt16?) -> String {
    var name = [CChar](repeating: 0, count: 256)
    // Safe: gethostname writes at most so many bytes, which the array owns.
    let isNamed = gethostname(&name, name.count) == 0
    let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let host = isNamed ? String(decoding: bytes, as: UTF8.self) : "localhost"
    let shown = port.map { "\($0)" } ?? settings.admin.address.split(separator: ":").last.map(String.init)
    return host + (shown.map { ":\($0)" } ?? "")
}
