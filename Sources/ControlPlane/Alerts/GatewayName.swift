import CLinux
import Configuration

/// What tells this gateway from others in alerts: the machine and the port of the admin listener, as a scraper would say.
func gatewayName(_ settings: Settings) -> String {
    var name = [CChar](repeating: 0, count: 256)
    // Safe: gethostname writes at most so many bytes, which the array owns.
    let isNamed = gethostname(&name, name.count) == 0
    let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let host = isNamed ? String(decoding: bytes, as: UTF8.self) : "localhost"
    let port = settings.admin.address.split(separator: ":").last.map { ":\($0)" } ?? ""
    return host + port
}
