/// Any JSON, for parts of an answer whose shape is open. The order of members is lost on the way: they come sorted by name.
extension JSONValue: Decodable {
    private struct Name: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    package init(from decoder: any Decoder) throws {
        if let members = try? decoder.container(keyedBy: Name.self) {
            let names = members.allKeys.sorted { $0.stringValue < $1.stringValue }
            self = .object(try names.map { ($0.stringValue, try members.decode(JSONValue.self, forKey: $0)) })
            return
        }
        if var elements = try? decoder.unkeyedContainer() {
            var values: [JSONValue] = []
            while !elements.isAtEnd { values.append(try elements.decode(JSONValue.self)) }
            self = .array(values)
            return
        }
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let flag = try? value.decode(Bool.self) {
            self = .bool(flag)
        } else if let number = try? value.decode(Int64.self) {
            self = .number(String(number))
        } else if let number = try? value.decode(Double.self) {
            self = .number(String(number))
        } else {
            self = .string(try value.decode(String.self))
        }
    }

    /// The member of an object, or nil.
    package subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.0 == name }?.1
    }
}
