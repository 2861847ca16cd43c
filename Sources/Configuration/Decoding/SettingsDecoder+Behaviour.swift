internal import Comparison

extension SettingsDecoder {
    mutating func decodeShadow(_ top: Section) {
        guard let section = top.section("shadow", Schema.shadow) else { return }
        section.setPlain(&settings.shadow.shareHundredths, "percent", Value.percent)
        let pointers = "JSON pointers, such as /serverTime or /items/*/seen"
        section.values("ignore", of: pointers, Value.pointerPattern).map { settings.shadow.comparison.ignore = $0 }
        section.values("unordered", of: pointers, Value.pointerPatternOrRoot).map {
            settings.shadow.comparison.unordered = $0
        }
        section.values("headers", of: "header names", Value.token).map {
            settings.shadow.headers = $0.map { $0.lowercased() }
        }
        section.set(&settings.shadow.bodyMaxBytes, "body_max", Value.size(1...(1 << 30)))
        section.setPlain(&settings.shadow.inFlightMax, "in_flight_max", Value.integer(1...100_000))
        section.set(&settings.shadow.recheckAfterMilliseconds, "recheck_after", Value.duration(from: 0, to: 3_600_000))
        section.setPlain(&settings.shadow.keepValues, "keep_values", Value.boolean)
    }

    mutating func decodeWrites(_ top: Section) {
        guard let section = top.section("writes", Schema.writes) else { return }
        section.set(&settings.writes.bodyMaxBytes, "body_max", Value.size(1...(1 << 30)))
        section.set(&settings.writes.retryMinMilliseconds, "retry_min", Value.duration(from: 1))
        section.set(&settings.writes.retryMaxMilliseconds, "retry_max", Value.duration(from: 1))
        section.value("answer", Value.word(["authoritative", "both"])).map {
            settings.writes.answersAfterBoth = $0 == "both"
        }
        section.set(
            &settings.writes.idempotencyRetentionMilliseconds, "idempotency_retention", Value.duration(from: 1000))
    }

    mutating func decodeFallback(_ top: Section) {
        guard let section = top.section("fallback", Schema.fallback) else { return }
        let causes = ["connect", "timeout", "5xx", "404"]
        if let on = section.values("on", of: causes.joined(separator: ", "), Value.word(causes)) {
            settings.fallback.onConnect = on.contains("connect")
            settings.fallback.onTimeout = on.contains("timeout")
            settings.fallback.on5xx = on.contains("5xx")
            settings.fallback.on404 = on.contains("404")
        }
        guard let breaker = section.section("breaker", Schema.breaker) else { return }
        breaker.set(&settings.fallback.breaker.errorRatio, "errors") { text throws(ValueProblem) in
            let ratio = try Value.share(text)
            guard ratio > 0 else { throw ValueProblem("out of range", accepted: "above 0%, at most 100%") }
            return ratio
        }
        breaker.set(&settings.fallback.breaker.windowMilliseconds, "window", Value.duration(from: 1000, to: 3_600_000))
        breaker.setPlain(&settings.fallback.breaker.minRequests, "min_requests", Value.integer(1...1_000_000))
        breaker.set(&settings.fallback.breaker.openForMilliseconds, "open_for", Value.duration(from: 1, to: 86_400_000))
    }
}
