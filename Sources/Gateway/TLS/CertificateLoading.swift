import CLinux
import COpenSSL
import Configuration

/// Puts certificates, keys and authorities from files into an SSL_CTX, and says in words what is wrong with them. Blocks on file I/O.
struct CertificateLoading {
    let context: OpaquePointer
    private(set) var findings: [FileFinding] = []

    init(into context: OpaquePointer) {
        self.context = context
        // Without this OpenSSL asks whoever sits at the terminal.
        SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
    }

    /// The certificate that this side shows, with its chain and key.
    mutating func use(_ files: CertificateFiles) {
        let certificatePath = files.keyPath + ".certificate_file"
        let keyPath = files.keyPath + ".key_file"
        ERR_clear_error()
        guard SSL_CTX_use_certificate_chain_file(context, files.certificateFile) == 1 else {
            return add(certificatePath, files.certificateFile, reason("no certificate in PEM can be read from"))
        }
        guard SSL_CTX_use_PrivateKey_file(context, files.keyFile, SSL_FILETYPE_PEM) == 1 else {
            let isOther = ctls_reason(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH
            let what =
                isOther
                ? "not the key of the certificate:"
                : reason("no private key in PEM without a passphrase can be read from")
            ERR_clear_error()
            return add(keyPath, files.keyFile, what)
        }
        guard SSL_CTX_check_private_key(context) == 1 else {
            ERR_clear_error()
            return add(keyPath, files.keyFile, "not the key of the certificate:")
        }
        guard let certificate = SSL_CTX_get0_certificate(context) else { return }
        if X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0 {
            add(certificatePath, files.certificateFile, "an expired certificate in", isWarning: true)
        } else if X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0 {
            add(certificatePath, files.certificateFile, "a certificate that is not valid yet in", isWarning: true)
        }
    }

    /// The authorities that the peer's certificate may come from.
    /// - Parameter asked: their names are told to clients, so that those can choose a certificate.
    mutating func trust(_ file: String, keyPath: String, asked: Bool) {
        ERR_clear_error()
        guard SSL_CTX_load_verify_locations(context, file, nil) == 1 else {
            return add(keyPath, file, reason("no certificates in PEM can be read from"))
        }
        guard asked else { return }
        guard let names = SSL_load_client_CA_file(file) else {
            return add(keyPath, file, reason("no certificates in PEM can be read from"))
        }
        // The context owns the list from now on.
        SSL_CTX_set_client_CA_list(context, names)
    }

    /// What OpenSSL has against a file, behind what was wanted of it.
    private func reason(_ wanted: String) -> String {
        let errors = takenErrors()
        // The last one that the system gave, when the file could not even be opened.
        if let number = errors.first(where: { ERR_GET_LIB($0) == ERR_LIB_SYS }).map({ ctls_reason($0) }) {
            return "cannot be read (\(String(cString: strerror(number))))"
        }
        return wanted
    }

    private func takenErrors() -> [UInt] {
        var errors: [UInt] = []
        while true {
            let error = ERR_get_error()
            if error == 0 { return errors }
            errors.append(error)
        }
    }

    private mutating func add(_ keyPath: String, _ file: String, _ problem: String, isWarning: Bool = false) {
        findings.append(FileFinding(keyPath: keyPath, file: file, problem: problem, isWarning: isWarning))
    }
}

/// Tells whether files have changed: a digest of what is in them.
struct FileDigest: Equatable {
    private let bytes: [UInt8]

    /// Larger files are not looked at any further; certificates are not that long.
    private static let maximumBytes = 4 << 20

    init(of paths: [String]) {
        var all: [UInt8] = []
        for path in paths {
            all += Array(path.utf8) + [0]
            all += FileDigest.contents(path)
            all.append(0)
        }
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        _ = SHA256(all, all.count, &digest)
        // There was a private key in it.
        all.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
        bytes = digest
    }

    private static func contents(_ path: String) -> [UInt8] {
        let descriptor = clinux_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var all: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 64 * 1024)
        while all.count < maximumBytes {
            let got = part.withUnsafeMutableBytes { clinux_read(descriptor, $0.baseAddress, $0.count) }
            guard got > 0 else { break }
            all += part[..<got]
        }
        part.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
        return all
    }
}
