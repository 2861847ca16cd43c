internal import Gateway
internal import Glibc

/// Objects as files of a folder.
///
/// The key `a/b` is the file `a.d/b.o`: an object and a folder of the same name never meet, and no name begins with a dot but those of drafts. The first line of a
/// file is its media type, so that both are one file and change at once. A draft is synced before it takes the name.
final class FolderObjects: ObjectStoring {
    private let root: String
    private var drafts = 0

    /// Makes the folder when it is not there.
    init(_ root: String) throws(ObjectFailure) {
        self.root = root
        guard mkdir(root, 0o700) == 0 || errno == EEXIST else {
            throw ObjectFailure(text: "cannot create \(root): \(String(cString: strerror(errno)))")
        }
    }

    func get(_ key: ObjectKey) throws(ObjectFailure) -> StoredObject? {
        let descriptor = open(path(key), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw failure("opened")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("read") }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var have = 0
        while have < bytes.count {
            let count = bytes.withUnsafeMutableBytes { buffer in
                buffer.baseAddress.map { read(descriptor, $0 + have, buffer.count - have) } ?? 0
            }
            guard count > 0 else { throw failure("read") }
            have += count
        }
        guard let end = bytes.firstIndex(of: 0x0A) else { throw ObjectFailure(text: "an object is damaged") }
        let type = String(decoding: bytes[..<end], as: UTF8.self)
        return StoredObject(type: type, bytes: Array(bytes[(end + 1)...]))
    }

    func put(_ object: StoredObject, as key: ObjectKey) throws(ObjectFailure) {
        let path = path(key)
        try makeFolders(of: key)
        drafts += 1
        let draft = "\(root)/.draft-\(getpid())-\(UInt(bitPattern: ObjectIdentifier(self).hashValue))-\(drafts)"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("created") }
        var isKept =
            writeWhole(descriptor, Array((object.type + "\n").utf8)) == 0 && writeWhole(descriptor, object.bytes) == 0
        isKept = isKept && fsync(descriptor) == 0
        isKept = close(descriptor) == 0 && isKept
        guard isKept, rename(draft, path) == 0 else {
            let error = failure("written")
            unlink(draft)
            throw error
        }
        syncFolder(of: path)
    }

    func delete(_ key: ObjectKey) throws(ObjectFailure) {
        let path = path(key)
        guard unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR else { throw failure("deleted") }
        syncFolder(of: path)
    }

    private func path(_ key: ObjectKey) -> String {
        let parts = names(key)
        return ([root] + parts.dropLast().map { $0 + ".d" }).joined(separator: "/") + "/\(parts[parts.count - 1]).o"
    }

    /// The parts as names of files: none begins with a dot.
    private func names(_ key: ObjectKey) -> [String] {
        key.encoded.map { $0.hasPrefix(".") ? "%2E" + $0.dropFirst() : $0 }
    }

    private func makeFolders(of key: ObjectKey) throws(ObjectFailure) {
        var folder = root
        for part in names(key).dropLast() {
            folder += "/\(part).d"
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw failure("given a folder") }
            syncFolder(of: folder)
        }
    }

    /// A file whose folder forgets its name is lost all the same.
    private func syncFolder(of path: String) {
        guard let slash = path.lastIndex(of: "/") else { return }
        let descriptor = open(String(path[..<slash]), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    private func failure(_ what: String) -> ObjectFailure {
        ObjectFailure(text: "an object could not be \(what): \(String(cString: strerror(errno)))")
    }
}
