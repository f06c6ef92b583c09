-- Requests for wrk: predictions, and as many wrong ones, which must be refused.
-- Each thread of wrk pauses between requests, so that all of them together send RATE a second.
local good = '{"inputs": {"text": "the food was not good , but the staff was lovely and word%d"}}'
local edited = '{"inputs": {"text": "the food was good"}, "mask": {"text": [3]}}'
local json = { ["Content-Type"] = "application/json" }
local wrong = os.getenv("WRONG") == "1"
local rate, connections = tonumber(os.getenv("RATE")), tonumber(os.getenv("CONNECTIONS"))
local n = 0
local large = string.rep("x", 10000000)

function delay()
  return 1000 * connections / rate  -- milliseconds, of each connection
end

local bad = {
  function() return wrk.format("POST", "/api/predict", json, "{") end,
  function() return wrk.format("POST", "/api/predict", json, '{"inputs": {"text": 3}, "replace": []}') end,
  function() return wrk.format("POST", "/api/predict", json, large) end,
  function() return wrk.format("POST", "/api/predict", { ["Content-Type"] = "text/plain" }, "{}") end,
  function() return wrk.format("POST", "/api/predict", json, '{"inputs": {"text": "\255\254"}}') end,
  function() return wrk.format("GET", "/../../etc/passwd") end,
  function() return wrk.format("GET", "/%2e%2e/%00") end,
  function() return wrk.format("DELETE", "/api/runs") end,
  function() return wrk.format("GET", "/healthz", { ["Host"] = "elsewhere.example" }) end,
}

function request()
  n = n + 1
  if wrong then return bad[n % #bad + 1]() end
  return wrk.format("POST", "/api/predict", json, n % 5 == 0 and edited or good:format(n % 100))
end

function done(summary, latency, requests)
  io.write(string.format(
    '{"requests": %d, "seconds": %.1f, "not_2xx": %d, "broken": %d, "p50_ms": %.2f, "p90_ms": %.2f, "p99_ms": %.2f, "max_ms": %.2f}\n',
    summary.requests, summary.duration / 1e6, summary.errors.status,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(90) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3))
end
