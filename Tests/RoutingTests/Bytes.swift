import Routing

/// Calls `body` with the address of a text's bytes; there is one even when the text is empty.
func withBytes<T>(_ text: String, _ body: (UnsafePointer<UInt8>, Int) -> T) -> T {
    let bytes = Array(text.utf8) + [0]
    return bytes.withUnsafeBufferPointer { body($0.baseAddress!, bytes.count - 1) }
}

/// What a range of a text's bytes says.
func text(_ whole: String, _ range: ByteRange) -> String {
    String(decoding: Array(whole.utf8)[range.start..<range.end], as: UTF8.self)
}

extension RouteTable {
    init(patterns: [String]) {
        self.init(patterns.map { Route(pattern: RoutePattern($0)!, kind: .read) })
    }

    func match(_ method: String, _ path: String) -> Int? {
        withBytes(method) { method, methodCount in
            withBytes(path) { match(method: method, methodCount, path: $0, $1) }
        }
    }

    func capture(_ variable: Variable, _ index: Int, _ path: String) -> String? {
        withBytes(path) { capture(variable, route: index, path: $0, $1) }.map { text(path, $0) }
    }
}
