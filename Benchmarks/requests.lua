-- Requests of 64 users in turn; the method is the script's first argument, GET unless it says POST.
local requests, position = {}, 0

function init(arguments)
    local method, body = arguments[1] or "GET", nil
    wrk.headers["Host"] = "example.test"
    wrk.headers["Accept"] = "application/json"
    wrk.headers["User-Agent"] = "wrk"
    if method == "POST" then
        body = '{"text":"' .. string.rep("x", 900) .. '"}'
        wrk.headers["Content-Type"] = "application/json"
    end
    for user = 1, 64 do
        wrk.headers["X-User-Id"] = "user-" .. user
        requests[user] = wrk.format(method, "/records/" .. user .. "?full=1", nil, body)
    end
end

function request()
    position = position % 64 + 1
    return requests[position]
end
