### Output of the commands about a project: init, trust, doctor, config, open, serve, man.

## polis init

# $directory, $language
cli-project-created = Created { $directory } ({ $language }).

# $directory, $language
cli-project-found = Found { $directory } ({ $language }).

cli-project-next = Next:
cli-project-watch-hint = (watch them in a browser; polis tui: in this terminal)

## polis trust

cli-project-trusted = Trusted: { $directory }
cli-project-no-longer-trusted = No longer trusted: { $directory }

# $directory, $project
cli-project-workspace-released = { $directory } is no longer registered as a workspace. The project in { $project } registers it again if its agent still works there.

# $name, $url
cli-project-trusted-endpoint = endpoint { $name }: { $url }

# $name, $url, $key
cli-project-trusted-endpoint-with-key = endpoint { $name }: { $url }, with the key in { $key }

cli-project-granted-path = commands may use { $path }

## Checks of polis doctor

cli-project-check-directory = directory
cli-project-check-gitignore = gitignore
cli-project-check-configuration = configuration
cli-project-check-permissions = permissions
cli-project-check-store = store
cli-project-check-integrity = integrity
cli-project-check-content = content
cli-project-check-boards = boards
cli-project-check-writable = writable
cli-project-check-sandbox = sandbox

## Results of the checks

cli-project-valid = valid
cli-project-check-failed = failed

# $problem, $hint
cli-project-check-problem = { $problem } Next: { $hint }

cli-project-only-on-server = only on the server
cli-project-git-ignores-data = git ignores the data of this project
cli-project-gitignore-repaired = repaired: git now ignores the data of this project
cli-project-store-embedded = embedded
cli-project-not-checked-on-postgres = not checked on PostgreSQL
cli-project-no-damage = no damage found

# $tasks, $agents, $events
cli-project-store-content = { $tasks } tasks, { $agents } agents, { $events } events

cli-project-boards-written = { $count } written
cli-project-boards-match = { $count } written, files match the store
cli-project-is-writable = yes
cli-project-confined = commands are confined in tier { $tier }
cli-project-all-roles = all roles

## polis config

# $description, $accepted, $default
cli-project-config-key = { $description } Takes { $accepted }; default { $default }.

cli-project-config-not-set = not set
cli-project-config-valid = polis.toml is valid. There is no rbac.yaml.
cli-project-config-and-rbac-valid = polis.toml is valid. rbac.yaml is valid.

## polis open and polis serve

cli-project-opened-in-browser = Opened in the browser. If nothing appears, open this link (valid once, for ten minutes):
cli-project-open-link = Open this link; it is valid once, for ten minutes:
cli-project-listening = Listening on { $url }
cli-project-sign-in-link = Sign in (this link is valid once, for ten minutes; `polis open` creates another):
cli-project-token-needed = Programs need a token: polis agent token issue AGENT (or `user` for yourself)
cli-project-api-description = API description: { $url }

# $address, $program, $pid, $port
cli-project-port-in-use-by = { $address } is already in use by { $program } (process { $pid }). Using port { $port } instead.

# $address, $port
cli-project-port-in-use = { $address } is already in use by another program. Using port { $port } instead.

## polis man

cli-project-man-pages-written = Man pages written to { $directory }.
