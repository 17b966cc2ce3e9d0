### Refusals of tool calls: unknown tools and invalid arguments.

tool-not-found = There is no tool { $name }.
    .hint = list the tools and use one of the names

tool-invalid-parameters = Invalid parameters: { $location }{ $problem }.
    .hint = check the tool's input schema
    .http = check the request's schema in `GET /v1/openapi.json`

tool-unknown-group = There is no group of tools { $name }.
    .hint = use one or more of { $groups }

tool-unknown-name = There is no tool { $name }.
    .hint = list the tools and use their names; `all` selects every tool
    .cli = `polis society team show` shows the names that the roles use; `all` selects every tool

tool-misspelt-parameter = There is no parameter { $name }; did you mean { $parameter }?
    .hint = call it again with { $suggestion }, or leave the argument out

## Problems of parameters, as in the errors of the JSON reader

tool-missing-field = missing field { $name }
tool-unknown-field = unknown field { $name }, expected { $expected }
tool-unknown-variant = unknown variant { $name }, expected { $expected }
tool-invalid-type = invalid type: { $found }, expected { $expected }
tool-invalid-value = invalid value: { $found }, expected { $expected }
tool-brief-expected = expected a brief: an object with objective, constraints, inputs, outputs, completionCriteria
tool-recipient-expected = expected an agent's id, `user`, `role:ROLE`, or a list of these
tool-texts-expected = expected a text or a list of texts
tool-time-expected = not an ISO 8601 time
tool-one-of = one of { $names }
tool-either = { $first } or { $second }
tool-found-kind = { $kind ->
        [null] null
        [sequence] sequence
       *[other] map
    }
tool-found-value = { $kind ->
        [boolean] boolean
        [integer] integer
        [number] floating point
       *[other] string
    } { $value }
tool-expected-kind = { $kind ->
        [string] a string
        [boolean] a boolean
        [sequence] a sequence
        [map] a map
        [name] string or map
        [single-key-map] map with a single key
        [json-string] a JSON string
        [json-object] a JSON object
       *[other] an object
    }
tool-expected-integer = { $name }
tool-other-problem = { $text }

## Errors of the JSON reader about syntax

json-at = { $problem } at line { $line } column { $column }
json-list-unclosed = EOF while parsing a list
json-object-unclosed = EOF while parsing an object
json-string-unclosed = EOF while parsing a string
json-value-missing = EOF while parsing a value
json-colon-expected = expected `:`
json-list-end-expected = expected `,` or `]`
json-object-end-expected = expected `,` or `{"}"}`
json-word-expected = expected ident
json-value-expected = expected value
json-quote-expected = expected `"`
json-invalid-escape = invalid escape
json-invalid-number = invalid number
json-number-out-of-range = number out of range
json-invalid-code-point = invalid unicode code point
json-control-character = control character (\u0000-\u001F) found while parsing a string
json-key-not-a-string = key must be a string
json-lone-surrogate = lone leading surrogate in hex escape
json-hex-escape-unclosed = unexpected end of hex escape
json-trailing-comma = trailing comma
json-trailing-characters = trailing characters
json-too-deep = recursion limit exceeded
