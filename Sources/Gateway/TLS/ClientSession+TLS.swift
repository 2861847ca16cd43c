import Configuration
import Telemetry

extension ClientSession {
    /// Agrees with the client on how to encrypt, within `timeouts.head`.
    /// - Returns: whether requests can follow; if not, the client was told what can be told.
    func secure(with stream: TLSStream) async -> Bool {
        do throws(TLSFailure) {
            try await client.secure(with: stream, timeout: worker.snapshot.settings.timeouts.headMilliseconds)
            metrics.tlsHandshake(.client, isVersion13: stream.isVersion13, isResumed: stream.isResumed)
            return true
        } catch {
            metrics.tlsFailure(.client, error.reason)
            guard error.reason != .closed, error.reason != .timeout, client.isOpen else { return false }
            // The alert is out. What the client has sent meanwhile is read and dropped: else it would see a reset in its place.
            client.giveUpTLS()
            if error.isPlainHTTP { await sayThatThisIsTLS() }
            await closeGently()
            return false
        }
    }

    private func sayThatThisIsTLS() async {
        begin()
        request.keepAlive = false
        request.headInPlace = false
        do throws(SessionEnd) { try await answer(.plaintext) } catch {}
    }
}
