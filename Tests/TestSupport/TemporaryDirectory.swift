import Glibc

/// A directory of its own, removed with all that is in it when the object goes.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() {
        var template = Array("/tmp/cutover-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            fatalError("no directory under /tmp: \(String(cString: strerror(errno)))")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { remove(path) }

    /// Everything in it, sorted.
    package var names: [String] { entries(of: path) }
}

private func entries(of directory: String) -> [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
}

private func remove(_ path: String) {
    if unlink(path) == 0 { return }
    for name in entries(of: path) { remove(path + "/" + name) }
    rmdir(path)
}
