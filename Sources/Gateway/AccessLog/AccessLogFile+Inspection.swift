import CLinux
package import Configuration

extension AccessLogFile {
    /// What would keep the file of the access log from being opened, for `check` and `serve` alike. Makes nothing. Blocks.
    package static let inspection: FileInspection = { settings in
        guard case .file(let path)? = settings.accessLog?.destination,
            let problem = obstacle(path, madeAtStart: settings.dataDirectory)
        else { return [] }
        return [
            FileFinding(
                keyPath: "access_log.file", file: path, problem: problem,
                accepted: "a file that can be written, in a directory that is there; stdout, stderr")
        ]
    }

    /// - Parameter madeAtStart: a directory that the gateway makes before it opens the file.
    private static func obstacle(_ path: String, madeAtStart: String) -> String? {
        var status = stat()
        if stat(path, &status) == 0 {
            if isDirectory(status) { return "a directory, not a file:" }
            return access(path, W_OK) == 0 ? nil : "cannot be written (\(reason(clinux_errno())))"
        }
        let number = clinux_errno()
        guard number == ENOENT else { return "cannot be reached (\(reason(number)))" }
        let directory = self.directory(of: path)
        guard stat(directory, &status) == 0, isDirectory(status) else {
            return withoutSlash(directory) == withoutSlash(madeAtStart) ? nil : "no directory for"
        }
        return access(directory, W_OK | X_OK) == 0
            ? nil : "a directory that cannot be written (\(reason(clinux_errno()))) holds"
    }

    private static func isDirectory(_ status: stat) -> Bool { status.st_mode & 0o170000 == 0o040000 }

    private static func reason(_ number: Int32) -> String { String(cString: strerror(number)) }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func withoutSlash(_ path: String) -> Substring {
        var path = path[...]
        while path.count > 1, path.last == "/" { path = path.dropLast() }
        return path
    }
}
