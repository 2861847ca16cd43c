/// What the flags of `serve` and `check` say; each overrides its key in the file. Paths are relative to the working
/// directory.
package struct ConfigurationFlags: Sendable, Equatable {
    /// `--listen ADDR`; replaces every listener of the file.
    package var listen: String?
    /// `--admin ADDR`
    package var admin: String?
    /// `--legacy URL`
    package var legacy: String?
    /// `--new URL`
    package var new: String?
    /// `--data DIR`
    package var data: String?
    /// `--plan FILE`
    package var plan: String?

    package init(
        listen: String? = nil, admin: String? = nil, legacy: String? = nil, new: String? = nil, data: String? = nil,
        plan: String? = nil
    ) {
        self.listen = listen
        self.admin = admin
        self.legacy = legacy
        self.new = new
        self.data = data
        self.plan = plan
    }
}
