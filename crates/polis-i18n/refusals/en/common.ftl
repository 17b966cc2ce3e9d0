### Refusals that are not in a table, and texts that any refusal can have.

tool-own-hint = correct the arguments according to the tool's input schema

value-not-a-string = A JSON string is expected, not { $found }.
    .hint = { $next }

value-found-literal = { $text }
value-found-list = a list
value-found-object = an object
