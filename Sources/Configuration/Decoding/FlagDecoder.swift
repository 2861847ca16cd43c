internal import Rollout

/// Puts the flags over what the file says.
struct FlagDecoder {
    let flags: ConfigurationFlags
    let diagnostics: Diagnostics

    func apply(to decoder: inout SettingsDecoder) {
        if let address = value(flags.listen, "--listen", for: "listen", Value.address) {
            decoder.settings.listeners = [ListenerSettings(address: address.text)]
            decoder.listenerPaths = ["listen"]
        }
        if let address = value(flags.admin, "--admin", for: "admin.listen", Value.address) {
            decoder.settings.admin.address = address.text
        }
        if let url = value(flags.legacy, "--legacy", for: "backends.legacy.url", Value.backendURL) {
            decoder.settings.legacy.take(url)
            decoder.backendsGiven.insert(.legacy)
        }
        if let url = value(flags.new, "--new", for: "backends.new.url", Value.backendURL) {
            decoder.settings.new.take(url)
            decoder.backendsGiven.insert(.new)
        }
        if let path = value(flags.data, "--data", for: "data", Value.text) { decoder.settings.dataDirectory = path }
        if let path = value(flags.plan, "--plan", for: "plan", Value.text) { decoder.settings.planPath = path }
    }

    private func value<T>(_ text: String?, _ flag: String, for path: String, _ read: Reader<T>) -> T? {
        guard let text else { return nil }
        diagnostics.note(path, flag: flag)
        do throws(ValueProblem) {
            return try read(text)
        } catch {
            diagnostics.error(path, value: text, error)
            return nil
        }
    }
}
