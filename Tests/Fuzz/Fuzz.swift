import Glibc

/// What libFuzzer calls. One program holds all targets, so that one build makes them; CUTOVER_FUZZ_TARGET says which one runs.
///
/// A target that finds something wrong traps, and libFuzzer keeps the input.
struct FuzzTarget: Sendable {
    let name: String
    /// Makes what the target needs once, and gives what is to be done with each input. The bytes are the input's own allocation,
    /// so that the address sanitiser sees whoever reads past them.
    let prepare: @Sendable () -> (UnsafeBufferPointer<UInt8>) -> Void

    static let all: [FuzzTarget] = [
        FuzzTarget(name: "request-head") { HeadFuzz(asRequest: true).run },
        FuzzTarget(name: "response-head") { HeadFuzz(asRequest: false).run },
        FuzzTarget(name: "chunked") { ChunkedFuzz().run },
        FuzzTarget(name: "json-hash") { JSONHashFuzz().run },
        FuzzTarget(name: "yaml") { YAMLFuzz().run },
        FuzzTarget(name: "journal-rows") { JournalRowsFuzz().run },
        FuzzTarget(name: "admin-api") { AdminAPIFuzz().run },
        FuzzTarget(name: "jwt") { IdentityFuzz().run },
        FuzzTarget(name: "http2-frames") { HTTP2Fuzz().run },
        FuzzTarget(name: "content-coding") { ContentCodingFuzz().run },
    ]

    /// libFuzzer has one thread.
    nonisolated(unsafe) static let wanted: (UnsafeBufferPointer<UInt8>) -> Void = {
        let name = getenv("CUTOVER_FUZZ_TARGET").map { String(cString: $0) } ?? ""
        guard let target = all.first(where: { $0.name == name }) else {
            let names = all.map(\.name).joined(separator: ", ")
            fatalError("CUTOVER_FUZZ_TARGET is \"\(name)\"; accepted: \(names)")
        }
        return target.prepare()
    }()
}

/// libFuzzer's own entry, for programs that have a `main` (llvm.org, LibFuzzer, "Using libFuzzer as a library").
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ oneInput: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

@main
enum FuzzProgram {
    static func main() {
        var count = CommandLine.argc
        var arguments = CommandLine.unsafeArgv
        exit(
            runDriver(&count, &arguments) { bytes, count in
                FuzzTarget.wanted(UnsafeBufferPointer(start: bytes, count: count))
                return 0
            })
    }
}

/// What must be true of every input.
func require(_ isTrue: Bool, _ text: @autoclosure () -> String, line: UInt = #line, file: StaticString = #fileID) {
    if !isTrue { fatalError(text(), file: file, line: line) }
}

/// A place for damaged or valid bytes that is exactly as long as they are.
func withExactCopy<Result>(_ bytes: some Collection<UInt8>, _ body: (UnsafePointer<UInt8>) -> Result) -> Result {
    let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, bytes.count))
    defer { memory.deallocate() }
    memory.initialize(repeating: 0)
    _ = memory.update(fromContentsOf: bytes)
    guard let base = memory.baseAddress else { fatalError("no memory") }
    return body(UnsafePointer(base))
}

/// Where an input is cut into pieces: decided by the input, so that a kept one is cut alike whenever it runs.
struct Cuts {
    private var state: UInt64 = 0xcbf2_9ce4_8422_2325

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        for byte in bytes { state = (state ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    /// The length of the next piece, at least 1.
    mutating func next(most: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return 1 + Int(state >> 33) % max(1, most)
    }
}

/// A directory for what a target has to keep in files; in memory where there is such a place. The script that runs the targets
/// removes it.
func scratchDirectory(_ name: String) -> String {
    let root = getenv("CUTOVER_FUZZ_SCRATCH").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(root)/cutover-fuzz-\(name)-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { fatalError("no directory below \(root)") }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Writes a file anew.
func writeFile(_ path: String, _ bytes: some Collection<UInt8>) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard descriptor >= 0 else { fatalError("cannot write \(path)") }
    defer { close(descriptor) }
    withExactCopy(bytes) { base in
        require(write(descriptor, base, bytes.count) == bytes.count, "a short write to \(path)")
    }
}

// Time is not played here. The seam for it is Swift's as far as DEBUG is set, which the script sets, and C's half of it is in debug
// builds only.
@_cdecl("clinux_played_monotonic_nanoseconds")
func noPlayedMonotonicNanoseconds() -> UInt64 { 0 }
@_cdecl("clinux_played_wall_milliseconds")
func noPlayedWallMilliseconds() -> Int64 { 0 }
