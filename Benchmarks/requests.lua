-- Requests of 64 users in turn, or of as many as the second argument says; the method is the first one, GET unless it says POST.
-- The third one is how long a client pauses before each request, in milliseconds, on average.
local requests, position = {}, 0

function init(arguments)
    local method, users, body = arguments[1] or "GET", tonumber(arguments[2] or 64), nil
    local pause = tonumber(arguments[3] or 0)
    -- Only then: wrk takes a timer for each request of a script that has this function.
    if pause > 0 then
        delay = function() return math.random(0, 2 * pause) end
    end
    wrk.headers["Host"] = "example.test"
    wrk.headers["Accept"] = "application/json"
    wrk.headers["User-Agent"] = "wrk"
    if method == "POST" then
        body = '{"text":"' .. string.rep("x", 900) .. '"}'
        wrk.headers["Content-Type"] = "application/json"
    end
    for user = 1, users do
        wrk.headers["X-User-Id"] = "user-" .. user
        requests[user] = wrk.format(method, "/records/" .. user .. "?full=1", nil, body)
    end
end

function request()
    position = position % #requests + 1
    return requests[position]
end

-- wrk itself prints no 95th percentile.
function done(summary, latency)
    io.write(string.format("Waited: %d us median, %d us p95\n", latency:percentile(50), latency:percentile(95)))
end
