/// A statement that every connection prepares when it first uses it.
package struct PostgresStatement: Sendable {
    /// Unique within the program: the name under which the server keeps it.
    package let name: String
    package let sql: String

    package init(_ name: String, _ sql: String) {
        self.name = name
        self.sql = sql
    }
}

/// Values for `$1`, `$2`, … in PostgreSQL's binary format: nothing to quote, and bytes go as they are.
package struct PostgresParameters: Sendable {
    /// Types of `pg_type` (their numbers are fixed for ever).
    enum Kind: UInt32 {
        case boolean = 16
        case bytes = 17
        case int64 = 20
        case int16 = 21
        case int32 = 23
        case text = 25

        var array: UInt32 {
            switch self {
            case .boolean: 1_000
            case .bytes: 1_001
            case .int64: 1_016
            case .int16: 1_005
            case .int32: 1_007
            case .text: 1_009
            }
        }
    }

    private(set) var types: [UInt32] = []
    private(set) var values: [[UInt8]?] = []

    package init() {}

    private func with(_ type: UInt32, _ value: [UInt8]?) -> Self {
        var copy = self
        copy.types.append(type)
        copy.values.append(value)
        return copy
    }

    package func int64(_ value: Int64?) -> Self { with(Kind.int64.rawValue, value.map { BinaryWriter.bytes(of: $0) }) }
    package func int32(_ value: Int?) -> Self {
        with(Kind.int32.rawValue, value.map { BinaryWriter.bytes(of: Int32(clamping: $0)) })
    }
    package func boolean(_ value: Bool) -> Self { with(Kind.boolean.rawValue, [value ? 1 : 0]) }
    package func text(_ value: String?) -> Self {
        with(Kind.text.rawValue, value.map { StoredText.encode($0) })
    }

    package func int64s(_ values: [Int64?]) -> Self {
        array(.int64, values) { $0.append($1) }
    }
    package func int32s(_ values: [Int?]) -> Self {
        array(.int32, values) { $0.append(Int32(clamping: $1)) }
    }
    package func int16s(_ values: [Int?]) -> Self {
        array(.int16, values) { $0.append(Int16(clamping: $1)) }
    }
    package func booleans(_ values: [Bool?]) -> Self {
        array(.boolean, values) { $0.append($1 ? 1 : 0 as UInt8) }
    }
    package func texts(_ values: [String?]) -> Self {
        array(.text, values) { $0.append(contentsOf: StoredText.encode($1)) }
    }
    package func byteArrays(_ values: [[UInt8]?]) -> Self {
        array(.bytes, values) { $0.append(contentsOf: $1) }
    }

    private func array<Value>(
        _ kind: Kind, _ values: [Value?], _ write: (inout BinaryWriter, Value) -> Void
    ) -> Self {
        var writer = BinaryWriter()
        writer.append(Int32(values.isEmpty ? 0 : 1))
        writer.append(Int32(1))
        writer.append(Int32(bitPattern: kind.rawValue))
        if !values.isEmpty {
            writer.append(Int32(values.count))
            writer.append(Int32(1))
        }
        for value in values {
            guard let value else {
                writer.append(Int32(-1))
                continue
            }
            let place = writer.bytes.count
            writer.append(Int32(0))
            write(&writer, value)
            writer.setLength(at: place)
        }
        return with(kind.array, writer.bytes)
    }
}

/// Big-endian integers and lengths, as the protocol has them.
struct BinaryWriter {
    private(set) var bytes: [UInt8] = []

    static func bytes<Value: FixedWidthInteger>(of value: Value) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }

    mutating func append<Value: FixedWidthInteger>(_ value: Value) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append(contentsOf more: [UInt8]) { bytes.append(contentsOf: more) }

    /// Writes how many bytes follow the four at `place`.
    mutating func setLength(at place: Int) {
        let length = Self.bytes(of: Int32(clamping: bytes.count - place - 4))
        for index in 0..<4 { bytes[place + index] = length[index] }
    }
}

/// Text as PostgreSQL can hold it. Its texts hold no NUL, but a record's id from a JSON body may: one such write would take its
/// whole group down. NUL becomes 01 02, and 01 becomes 01 03, so that different texts stay different.
enum StoredText {
    static func encode(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.contains(where: { $0 < 2 }) else { return bytes }
        return bytes.flatMap { byte -> [UInt8] in
            switch byte {
            case 0: [1, 2]
            case 1: [1, 3]
            default: [byte]
            }
        }
    }

    static func decode(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        guard bytes.contains(1) else { return String(decoding: bytes, as: UTF8.self) }
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        var isEscaped = false
        for byte in bytes {
            if isEscaped {
                plain.append(byte == 2 ? 0 : 1)
                isEscaped = false
            } else if byte == 1 {
                isEscaped = true
            } else {
                plain.append(byte)
            }
        }
        return String(decoding: plain, as: UTF8.self)
    }
}
