import FoundationEssentials

/// A text file of the repository.
struct SourceFile {
    /// Path from the repository's root, with `/`.
    let path: String
    let text: String

    /// How many lines it has.
    var lineCount: Int { text.utf8.count { $0 == UInt8(ascii: "\n") } }
}

/// The repository as the house rules see it: found from this file's place, so that it works wherever it was cloned to.
enum SourceTree {
    /// The root of the repository.
    static let root: String = {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(3)
        return parts.joined(separator: "/")
    }()

    /// The files below a folder (or one file) that have one of these endings, sorted by path.
    static func files(under folder: String, endings: [String]) throws -> [SourceFile] {
        let manager = FileManager.default
        var paths = [folder]
        var isDirectory = false
        guard manager.fileExists(atPath: root + "/" + folder, isDirectory: &isDirectory) else { return [] }
        if isDirectory {
            paths = try manager.subpathsOfDirectory(atPath: root + "/" + folder).map { folder + "/" + $0 }
        }
        let named = paths.sorted().filter { path in endings.contains { path.hasSuffix($0) } }
        return try named.compactMap { path in
            var isDirectory = false
            _ = manager.fileExists(atPath: root + "/" + path, isDirectory: &isDirectory)
            if isDirectory { return nil }
            let data = try Data(contentsOf: URL(fileURLWithPath: root + "/" + path))
            return SourceFile(path: path, text: String(decoding: data, as: UTF8.self))
        }
    }

    /// The names of the folders right below a folder.
    static func folders(under folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root + "/" + folder).sorted()
    }
}
