### Comments of a new polis.toml.

cli-config-template-heading = polis configuration: all keys with their defaults. `polis config check` checks this file.
# $description, $accepted
cli-config-key-comment = { $description } Takes { $accepted }.
cli-config-endpoint-comment = A model endpoint; there may be several.
