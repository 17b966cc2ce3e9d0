### Words and sentences that several commands print.

cli-store-unreachable = The store cannot be reached; still watching.

## Columns

cli-column-status = STATUS
cli-column-role = ROLE
cli-column-agent = AGENT
cli-column-owner = OWNER
cli-column-type = TYPE
cli-column-id = ID
