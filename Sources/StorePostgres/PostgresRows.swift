internal import CPostgres

/// The rows that one statement gave, in binary format. Owns the result and clears it.
package final class PostgresRows {
    // Valid until `deinit`. Results are independent of their connection.
    private let handle: OpaquePointer
    package let count: Int

    init(owning handle: OpaquePointer) {
        self.handle = handle
        count = Int(PQntuples(handle))
    }

    deinit { PQclear(handle) }

    /// Rows that an UPDATE, INSERT or DELETE touched.
    package var affected: Int { Int(String(cString: PQcmdTuples(handle))) ?? 0 }

    package func isNull(_ row: Int, _ column: Int) -> Bool { PQgetisnull(handle, Int32(row), Int32(column)) != 0 }

    /// The bytes of a value; they live as long as this object.
    private func value(_ row: Int, _ column: Int) -> UnsafeBufferPointer<UInt8> {
        let count = Int(PQgetlength(handle, Int32(row), Int32(column)))
        guard count > 0, let start = PQgetvalue(handle, Int32(row), Int32(column)) else {
            return .init(start: nil, count: 0)
        }
        let raw = UnsafeRawPointer(start).assumingMemoryBound(to: UInt8.self)
        return UnsafeBufferPointer(start: raw, count: count)
    }

    /// A value of `smallint`, `integer`, `bigint` or `boolean`; 0 for NULL.
    package func integer(_ row: Int, _ column: Int) -> Int64 { Self.integer(value(row, column)) }
    package func integerOrNil(_ row: Int, _ column: Int) -> Int64? { isNull(row, column) ? nil : integer(row, column) }
    package func boolean(_ row: Int, _ column: Int) -> Bool { integer(row, column) != 0 }
    package func text(_ row: Int, _ column: Int) -> String { StoredText.decode(value(row, column)) }
    package func textOrNil(_ row: Int, _ column: Int) -> String? { isNull(row, column) ? nil : text(row, column) }
    package func bytes(_ row: Int, _ column: Int) -> [UInt8] { Array(value(row, column)) }
    package func texts(_ row: Int, _ column: Int) -> [String] {
        elements(row, column).map { $0.map { StoredText.decode($0) } ?? "" }
    }
    package func int64s(_ row: Int, _ column: Int) -> [Int64?] {
        elements(row, column).map { $0.map { Self.integer($0) } }
    }

    /// The elements of a one-dimensional array; nil for NULL.
    private func elements(_ row: Int, _ column: Int) -> [UnsafeBufferPointer<UInt8>?] {
        let bytes = value(row, column)
        // Dimensions, flags, element type; then length and lower bound; then the elements, each after its length.
        guard bytes.count >= 20 else { return [] }
        var place = 20
        var found: [UnsafeBufferPointer<UInt8>?] = []
        while place + 4 <= bytes.count {
            let length = Int(Self.integer(UnsafeBufferPointer(rebasing: bytes[place..<place + 4])))
            place += 4
            guard length >= 0 else {
                found.append(nil)
                continue
            }
            guard place + length <= bytes.count else { break }
            found.append(UnsafeBufferPointer(rebasing: bytes[place..<place + length]))
            place += length
        }
        return found
    }

    private static func integer(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64 {
        guard let first = bytes.first else { return 0 }
        // A boolean is one byte, 0 or 1; all others are big-endian with a sign.
        var result: Int64 = first & 0x80 != 0 ? -1 : 0
        for byte in bytes { result = result << 8 | Int64(byte) }
        return result
    }
}
