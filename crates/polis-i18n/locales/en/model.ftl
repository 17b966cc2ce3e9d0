### Model requests: why a response failed, for the supervisor of a member and for people.

model-cancelled = The model request was cancelled.
# $name, $status
model-returned-status = Model endpoint { $name } returned status { $status }.
# $name, $status, $message: of the provider
model-returned-message = Model endpoint { $name } returned status { $status }: { $message }
# $name, $problem
model-unusable = Model endpoint { $name } cannot be used: { $problem }.
# $name, $problem
model-no-response = Model endpoint { $name } did not respond: { $problem }.
model-response-broke-off = Model endpoint { $name } broke off in the middle of its response.
model-no-choice = Model endpoint { $name } responded without a choice.
model-announced-calls = Model endpoint { $name } announced tool calls but sent none.
model-invalid-response = Model endpoint { $name } sent an invalid response.
model-fields-refused = Model endpoint { $name } refuses the request, also without the optional fields.
# $reason, $seconds
model-retry-later = { $reason } It asks to retry after { $seconds } s.
# $reason, $seconds
model-lasted = { $reason } This lasted for { $seconds } s.
# $reason, $attempts, $seconds
model-tried = { $reason } It was tried { $attempts } times in { $seconds } s.
# $selector, $role, $endpoint
model-unknown-selector = No model endpoint has the name or tag { $selector }, which the role { $role } asks for; the default endpoint { $endpoint } is used instead.

## Problems of a connection: the end of a sentence

model-unreachable = it cannot be reached
model-proxy-unreachable = its proxy cannot be reached
model-tunnel-refused = its proxy refused the tunnel
model-connect-timeout = the connection timed out
model-untrusted-certificate = its certificate is not trusted
model-tls-handshake = the TLS handshake failed
model-first-byte-timeout = the response did not begin in time
model-chunk-timeout = the response stalled
model-not-http = the response was not valid HTTP
model-connection-closed = the connection broke

## Recordings

model-waiting-text = (waiting for more messages)
model-end-of-recording-text = (end of the recording)
model-not-recorded = The recording has no responses for { $agent }.
# $count, $agent, $requested
model-recording-ended = The recording has { $count } responses for { $agent }, but response { $requested } was requested.
model-not-replayable = A response of the recording cannot be replayed.
