import Configuration
import Gateway

/// Opens what `access_log` names and gives the writer the key that users' ids are hashed with; the file is in use only when
/// the writer is told. Blocks.
/// - Returns: nil where there is no access log.
func openAccessLog(
    _ settings: Settings, for writer: AccessLogWriter
) throws(AccessLogError) -> AccessLogFile? {
    guard let log = settings.accessLog else { return nil }
    if log.user == .hash {
        // One key a data directory: the same user has the same hash as long as that lives.
        do throws(TokenError) {
            writer.setKey(try AdminTokens.readOrMake("\(settings.dataDirectory)/access-log.key"))
        } catch {
            throw AccessLogError(text: error.text)
        }
    }
    return try AccessLogFile(log.destination)
}
