### Refusals of HTTP requests before and around the operation.

http-host-forbidden = The Host header does not name this server.
    .hint = use localhost or the address it listens on, or add the name to [serve] hosts

http-origin-forbidden = Requests from this origin are not allowed.
    .hint = add the origin to [serve] origins

http-token-rate-limited = This token exceeds its rate limit.
    .hint = send fewer requests; the server's operator can raise [serve] rate and burst

http-address-rate-limited = Too many requests without a valid token came from this address.
    .hint = send `Authorization: Bearer TOKEN` with a valid token

http-host-missing = The request has no Host, or more than one.
    .hint = send exactly one Host header

http-too-many-requests = The server has reached its maximum number of concurrent requests.
    .hint = wait a moment, then retry

http-body-timeout = The request body did not arrive in time.
    .hint = send the body without pauses

http-body-malformed = The request body is incomplete or malformed.
    .hint = send the complete body

http-body-too-large = The request body is larger than { $limit } bytes.
    .hint = send smaller requests; the server's operator can raise [serve] max_body

http-body-not-json = The request body is not uncompressed JSON.
    .hint = send `Content-Type: application/json` without Content-Encoding

http-shutting-down = The server is shutting down.
    .hint = use another server, or wait until this one is restarted

http-store-silent = The store does not respond.
    .hint = retry later, and check the server's log

http-method-not-allowed = This path does not support this method.
    .hint = use a method of the Allow header; /v1/openapi.json describes every route

http-no-route = There is no route at this path.
    .hint = see /v1/openapi.json; encode a board name or blackboard path as one segment, with / as %2F

http-unknown-parameter = There is no parameter { $name } here.
    .hint = available parameters: in the query: { $query }; in the body: { $body }

http-unknown-query-parameter = There is no parameter { $name } here.
    .hint = available parameters: in the query: { $query }

http-unknown-body-parameter = There is no parameter { $name } here.
    .hint = available parameters: in the body: { $body }

http-no-parameters = There is no parameter { $name } here.
    .hint = remove it; this route has no parameters

http-query-repeated = The query has { $name } more than once.
    .hint = send it only once

http-body-repeated = The body has { $name } more than once.
    .hint = send it only once

http-body-not-an-object = The body is not a JSON object: { $error }.
    .hint = send one JSON object in UTF-8, with the parameters as its fields

http-wrong-parameter-type = { $name } is not { $expected ->
        [boolean] true or false
        [integer] a whole number
       *[other] a number
    }.
    .hint = see the parameter's schema in /v1/openapi.json

http-etag-of-no-version = No version has the ETag in If-Match.
    .hint = read the resource again, and use the ETag of that response

http-etag-of-no-file = No version has the ETag in If-Match.
    .hint = read the resource again, and use the ETag of that response

http-invalid-condition = The If-Match or If-None-Match header is malformed, repeated, or not supported by this route.
    .hint = send If-Match with exactly one ETag, unchanged, on routes where /v1/openapi.json lists it

http-invalid-header = The header { $name } is repeated or not ASCII.
    .hint = send it once, in ASCII

http-operation-timeout = The operation timed out; whether it was carried out is unknown.
    .hint = check the current state; with an Idempotency-Key the same request can safely be retried

http-invalid-percent-encoding = The URL has an incomplete percent-encoding, or one that is not UTF-8.
    .hint = percent-encode each byte of the UTF-8 text as %XX
