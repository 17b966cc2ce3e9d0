### Refusals of tool calls: unknown tools and invalid arguments.

tool-not-found = There is no tool { $name }.
    .hint = list the tools and use one of the names

tool-invalid-parameters = Invalid parameters: { $location }{ $problem }.
    .hint = check the tool's input schema

tool-unknown-group = There is no group of tools { $name }.
    .hint = use one or more of { $groups }

tool-unknown-name = There is no tool { $name }.
    .hint = see docs/reference/tools.md for the names; `all` selects every tool

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
       *[other] an object
    }
tool-expected-integer = { $name }
tool-other-problem = { $text }
