import CNGHTTP2

/// Whose session has called back.
private func owner(_ userData: UnsafeMutableRawPointer?) -> HTTP2Session? {
    userData.map { Unmanaged<HTTP2Session>.fromOpaque($0).takeUnretainedValue() }
}

extension HTTP2Session {
    /// A server's session that calls back into its `HTTP2Session`, which is to be its user data.
    static func makeSession() -> OpaquePointer? {
        var callbacks: OpaquePointer?
        var option: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks else { return nil }
        defer { nghttp2_session_callbacks_del(callbacks) }
        guard nghttp2_option_new(&option) == 0, let option else { return nil }
        defer { nghttp2_option_del(option) }
        // Windows open as what came in them is taken, and not as it arrives.
        nghttp2_option_set_no_auto_window_update(option, 1)
        // What answers PING and SETTINGS waits for a client that does not read.
        nghttp2_option_set_max_outbound_ack(option, 100)
        // Streams that are over are of no use without priorities.
        nghttp2_option_set_no_closed_streams(option, 1)
        nghttp2_option_set_max_settings(option, 32)
        setCallbacks(callbacks)
        var session: OpaquePointer?
        guard nghttp2_session_server_new2(&session, callbacks, nil, option) == 0 else { return nil }
        return session
    }

    private static func setCallbacks(_ callbacks: OpaquePointer) {
        // Frames that nghttp2 passes over without a word, priorities above all, are seen only here.
        nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { _, header, userData in
            guard let kind = header.map({ UInt32($0.pointee.type) }), let owner = owner(userData) else { return 0 }
            owner.frameBegins(kind)
            if kind == NGHTTP2_PRIORITY.rawValue || kind > NGHTTP2_CONTINUATION.rawValue { owner.bringsNothing() }
            return 0
        }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, userData in
            if let frame, cnghttp2_begins_request(frame) != 0 {
                owner(userData)?.requestBegins(cnghttp2_stream(frame))
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameCount, value, valueCount, _, userData in
            guard let frame, let owner = owner(userData) else { return 0 }
            let isRight = owner.field(
                cnghttp2_stream(frame), UnsafeBufferPointer(start: name, count: nameCount),
                UnsafeBufferPointer(start: value, count: valueCount))
            return isRight ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, bytes, count, userData in
            if let bytes, count > 0 { owner(userData)?.data(id, bytes, count) }
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, userData in
            if let frame { owner(userData)?.received(frame) }
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, userData in
            guard let frame, let owner = owner(userData) else { return 0 }
            if cnghttp2_ends_stream(frame) != 0 { owner.answerSent(cnghttp2_stream(frame)) }
            // Whoever has the gateway reset a stream makes as much work as who does it (CVE-2025-8671).
            if cnghttp2_resets_for_the_client(frame) != 0 { owner.clientReset() }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, error, userData in
            owner(userData)?.streamClosed(id, error)
            return 0
        }
    }

    private func received(_ frame: UnsafePointer<nghttp2_frame>) {
        let id = cnghttp2_stream(frame)
        let endsStream = cnghttp2_ends_stream(frame) != 0
        switch UInt32(cnghttp2_type(frame)) {
        case NGHTTP2_HEADERS.rawValue: fieldsComplete(id, isLast: endsStream)
        case NGHTTP2_DATA.rawValue:
            if frame.pointee.hd.length == 0, !endsStream { bringsNothing() }
            if endsStream { requestComplete(id) }
        case NGHTTP2_RST_STREAM.rawValue: clientReset()
        case NGHTTP2_PING.rawValue, NGHTTP2_SETTINGS.rawValue: bringsNothing()
        // Opens a window; a client that takes much sends many of them.
        default: break
        }
    }

    /// Reads an answer's body for a DATA frame.
    static let readAnswer: nghttp2_data_source_read_callback = { _, id, room, count, flags, _, userData in
        guard let room, let flags, let owner = owner(userData) else {
            return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
        }
        guard let taken = owner.answer(id, into: room, count) else { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
        if taken.isLast { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return taken.bytes
    }
}
