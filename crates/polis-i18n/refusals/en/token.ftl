### Refusals about tokens, sign-in and scopes.

token-expires-now = The token would expire immediately.
    .cli = give --expires a time from now, such as 30d
    .tool = give it a time from now, such as 30d
    .screen = correct the input

token-not-found = There is no token { $id }.
    .cli = list the tokens with `polis agent token list`
    .tool = ask the person who runs polis for the list of tokens
    .screen = reload the page: it may no longer exist

token-required = A valid token is required.
    .cli = send `Authorization: Bearer TOKEN`; the person who runs polis issues one with `polis agent token issue AGENT`
    .tool = send `Authorization: Bearer TOKEN`; the person who runs polis issues one
    .screen = enter a valid token, or sign in with a new link from `polis open`

token-only-person-manages = Permission denied: only the person may issue, see and revoke tokens.
    .hint = ask the person who runs this polis

token-sign-in-link-invalid = This sign-in link is invalid: it was already used, has expired, or is incomplete.
    .cli = run `polis open` for a new link
    .tool = ask the person who runs polis for a new link
    .screen = enter a valid token, or sign in with a new link from `polis open`

token-scope-missing = The scope of this token does not include { $required }.
    .cli = use a token issued with --scope { $required } (`polis agent token issue`)
    .tool = ask the person who runs polis for one with the scope { $required }
    .screen = sign in with a token whose scope allows it

token-invalid-scope = { $text } is not a valid scope.
    .hint = use all, read, AREA or AREA:read, separated by commas; areas: { $areas }
