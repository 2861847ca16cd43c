import Configuration
import Testing

/// Certificates of listeners and backends, and what a reload may change of them.
@Suite struct TLSSettingsTests {
    private func listener(_ tls: String) -> ListenerSettings? {
        load("listen: {address: \"127.0.0.1:8443\", tls: {\(tls)}}\n" + minimal).settings?.listeners.first
    }

    @Test func oneCertificateStandsInTheSectionAndMoreInTheList() {
        let both = listener("certificate_file: a, key_file: b, certificates: [{certificate_file: c, key_file: d}]")
        #expect(both?.tls?.certificates.map(\.certificateFile) == ["a", "c"])
        #expect(both?.tls?.certificates.map(\.keyPath) == ["listen.tls", "listen.tls.certificates[0]"])
        let list = listener("certificates: [{certificate_file: c, key_file: d}]")
        #expect(list?.tls?.certificates.map(\.keyFile) == ["d"])
    }

    @Test func clientsAreAskedForACertificateOnlyWhereAnAuthorityIsNamed() {
        #expect(listener("certificate_file: a, key_file: b")?.tls?.clientCAFile == nil)
        let asked = listener("certificate_file: a, key_file: b, client_ca_file: c")
        #expect(asked?.tls?.clientCAFile == "c" && asked?.tls?.isClientCertificateOptional == false)
        let invited = listener("certificate_file: a, key_file: b, client_ca_file: c, client_certificate: optional")
        #expect(invited?.tls?.isClientCertificateOptional == true)
    }

    @Test func aBackendMayBeShownACertificate() throws {
        let text = """
            backends:
              legacy: {url: "http://127.0.0.1:7001"}
              new: {url: "https://new.example", tls: {certificate_file: etc/c, key_file: etc/k}}
            """
        let new = try #require(load(text).settings?.new)
        #expect(new.port == 443 && new.tls?.verify == true)
        #expect(new.tls?.certificate?.certificateFile == "etc/c" && new.tls?.certificate?.keyFile == "etc/k")
    }

    @Test func aReloadTakesOtherCertificatesAndNotTheirAbsence() throws {
        let one = try #require(
            load("listen: {address: \"a:1\", tls: {certificate_file: a, key_file: b}}\n" + minimal).settings)
        let other = try #require(
            load("listen: {address: \"a:1\", tls: {certificate_file: c, key_file: d}}\n" + minimal).settings)
        let none = try #require(load("listen: \"a:1\"\n" + minimal).settings)
        #expect(other.restartOnlyDifferences(from: one) == [])
        #expect(none.restartOnlyDifferences(from: one) == ["listen"])
        #expect(one.restartOnlyDifferences(from: none) == ["listen"])
        var older = one
        older.listeners[0].http2 = false
        #expect(one.restartOnlyDifferences(from: older) == ["listen"])
    }

    @Test(arguments: [
        ("new.internal", nil), ("new_1.internal", nil), ("192.0.2.7", nil), ("2001:db8::7", nil),
        ("new.internal ", "new.internal"), ("new.internal.", "new.internal"), ("[2001:db8::7]", "2001:db8::7"),
        ("new internal", ""), ("*.internal", ""), ("new.internal:443", ""), ("https://new", ""), ("-a.b", ""),
        ("999.1.1.1", ""),
    ])
    func aServerNameIsAHostNameOrAnAddress(_ name: String, _ suggestion: String?) {
        let text = """
            backends:
              legacy: {url: "http://127.0.0.1:7001"}
              new: {url: "https://new.example", tls: {server_name: "\(name)"}}
            """
        guard let suggestion else { return #expect(load(text).settings?.new.tls?.serverName == name) }
        #expect(
            load(text).messages == [
                "cutover.yaml:3: backends.new.tls.server_name: not a server name \"\(name)\"; accepted: a host name or "
                    + "an address, such as new.internal, 192.0.2.7, 2001:db8::7"
                    + (suggestion.isEmpty ? "" : "; did you mean \(suggestion)?")
            ])
    }

    @Test func filesOfASectionThatIsNotWholeAreLookedForToo() {
        let text = "listen: {address: \"127.0.0.1:8443\", tls: {certificate_file: gone, client_ca_file: lost}}\n"
        #expect(
            load(text + minimal).messages == [
                "cutover.yaml:1: listen.tls.key_file: missing; accepted: a PEM file",
                "cutover.yaml:1: listen.tls.certificate_file: cannot be read (No such file or directory) \"gone\"",
                "cutover.yaml:1: listen.tls.client_ca_file: cannot be read (No such file or directory) \"lost\"",
            ])
    }

    @Test func whatIsWrongInAFileIsSaidWithItsLine() {
        let text =
            minimal
            + "listen:\n  - address: \"127.0.0.1:8443\"\n    tls:\n      certificate_file: c\n      key_file: k\n"
        func outcome(isWarning: Bool) -> ConfigurationOutcome {
            ConfigurationLoader.load(text: text, file: "cutover.yaml", files: files()) { _ in
                nil
            } inspection: { settings in
                settings.listeners.compactMap(\.tls).flatMap(\.certificates).map {
                    FileFinding(
                        keyPath: $0.keyPath + ".key_file", file: $0.keyFile, problem: "odd", isWarning: isWarning)
                }
            }
        }
        let line = minimal.split(separator: "\n", omittingEmptySubsequences: false).count + 4
        let message = "cutover.yaml:\(line): listen[0].tls.key_file: odd \"k\""
        #expect(outcome(isWarning: false).messages == [message])
        #expect(outcome(isWarning: true).warnings == [message])
    }
}
