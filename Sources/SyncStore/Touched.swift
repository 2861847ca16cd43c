internal import SyncModel

/// The users and devices that a group has touched: for each the first change that did.
struct Touched {
    private(set) var users: [SyncChange] = []
    private(set) var devices: [SyncChange] = []

    init(_ accepted: [AcceptedChange]) {
        var seenUsers: Set<String> = []
        var seenDevices: Set<[String]> = []
        for change in accepted.lazy.map(\.change) {
            if seenUsers.insert(change.user).inserted { users.append(change) }
            if !change.device.isEmpty, seenDevices.insert([change.user, change.device]).inserted {
                devices.append(change)
            }
        }
    }
}
