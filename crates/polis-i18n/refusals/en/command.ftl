### Refusals of commands of the command line and of their arguments.

command-person-is-no-agent = "user" is the person, not a registered agent.
    .hint = run `polis agent list` to see the agents

command-content-not-utf8 = The content is not UTF-8.
    .hint = convert it to UTF-8; nothing was changed

command-content-unreadable = The content file cannot be read: { $reason ->
        [missing] it does not exist
        [denied] you may not read it
        [directory] it is a directory
        [no-file] it is not a readable file
       *[other] { $reason }
    }.
    .hint = check its name and that you may read it

command-not-json = The content is not JSON: { $error }.
    .hint = omit --as-json to send text

command-invalid-json = Invalid JSON: { $error }.
    .hint = check the JSON of the content and of --meta

command-not-a-time = { $text } is not a time.
    .hint = write 2026-02-15T00:00:00Z, or 7d for a week ago

command-man-pages-not-written = The man pages cannot be written there.
    .hint = name a directory that you may write to

command-lonely-tls-setting = Only one of serve.tls_cert and serve.tls_key is set.
    .hint = set both, or neither

command-stdin-not-utf8 = Standard input is not UTF-8.
    .hint = convert it to UTF-8

command-invalid-duration = { $message }.
    .hint = use for example 30m, 90s, 2h or 7d

command-invalid-line-range = The lines are not a range of line numbers, from 1.
    .hint = write --lines 10-20, --lines 10- or --lines 10

command-no-json-terminal = The terminal UI has no JSON output.
    .hint = omit --json, or use `polis watch --json`

command-no-tab = There is no tab "{ $tab }".
    .hint = choose one of now, tasks, boards, agents, workspaces, events

command-only-person-signs-in = Only the person can sign in with a link.
    .hint = omit --as and POLIS_AGENT, or sign in with a token on the page itself

command-timeout-not-a-number = The timeout is not a number.
    .hint = give --timeout-ms in milliseconds, such as 5000, or omit it

command-command-not-utf8 = The command is not UTF-8.
    .hint = write it into a script in the workspace and run that

command-demo-timeout = The team did not finish within a minute.
    .hint = run it again

command-demo-not-writable = The demo's directory cannot be created here.
    .hint = change to a directory that you may write to

command-demo-unconfined = This machine cannot confine commands, so the team could not test its program; the demo was not started.
    .hint = `polis doctor` shows what is missing; `polis demo board` runs without it

command-too-many-demos = There are thousands of demos here already.
    .hint = remove the directories { $demo_dir }-*

command-run-stopped = Run { $run } is stopped.
    .hint = start another with `polis run "REQUIREMENT"`; `polis society ps` lists the active ones

command-requirement-empty = The requirement is empty.
    .hint = describe what to build: polis run "a command line calculator"

command-requirement-with-resume = A resumed run already has a requirement.
    .hint = write to it with `polis society send root TEXT`, or omit --resume to start another run

command-requirement-missing = The requirement is missing.
    .hint = `polis run "REQUIREMENT"` starts a run; `polis run --resume` resumes the newest one

command-detach-with-resume = --detach starts a new run and cannot be combined with --resume.
    .hint = start `polis serve`; it drives every run of the store

command-no-pending-call = No call needs approval.
    .hint = see `polis society approvals --all`

command-several-pending-calls = More than one call needs approval.
    .hint = name one by its id: `polis society approvals` lists them

command-invalid-money = The money budget is not a valid amount.
    .hint = use for example 2.50

command-no-run-yet = There is no run yet.
    .hint = start one with `polis run "REQUIREMENT"`, or watch `polis demo`

command-text-not-sendable = The text cannot be sent.
    .hint = send plain text

command-several-active-runs = More than one run is active.
    .hint = name the run to stop: `polis society ps` lists them

command-metadata-not-json = Invalid metadata: { $error }.
    .hint = use a JSON object, such as '{"{"}"priority":"high"{"}"}'

command-directory-name-invalid = The name of the directory is empty or not UTF-8.
    .hint = name a directory in UTF-8

command-output-not-written = The result could not be written to standard output; the operation itself succeeded.
    .hint = check `polis log` before you repeat the command

command-budget-without-price = A money budget is set, but no endpoint has a price, so the budget would never be used up.
    .hint = set price_in and price_out of [models.NAME] in .agent-workspace/polis.toml, or use --budget-tokens

command-recording-not-writable = The recording cannot be written there.
    .hint = name another file with --record

command-content-too-long = The content is longer than { $mebibytes } MiB.
    .hint = create it with a command in the workspace (`polis exec`), or write it in parts

command-usage = { $message }
    .hint = run the command with --help

command-address-in-use = { $address } is already in use by another program.
    .hint = use `--listen { $free }` to take any free port, or stop the other program

command-address-in-use-by = { $address } is already in use by { $program } (process { $pid }).
    .hint = use `--listen { $free }` to take any free port, or stop the other program

command-socket-in-use = { $path } is already in use by another program.
    .hint = choose another path with --listen, or stop the other program

command-socket-in-use-by = { $path } is already in use by { $program } (process { $pid }).
    .hint = choose another path with --listen, or stop the other program

command-cannot-listen = Cannot listen on { $target }: { $problem ->
        [in-use] the address is already in use
        [denied] permission denied
        [not-available] no interface of this machine has this address
        [exists] a file that is not a socket exists there
        [not-found] the directory does not exist
       *[other] the operating system refused
    }.
    .hint = choose another address with --listen

command-recording-unreadable = The recording cannot be read.
    .hint = name a file that `polis run --record FILE` wrote: --model replay:FILE

command-no-model = No model is configured.
    .hint = set OPENAI_API_KEY (and OPENAI_BASE_URL for another provider), or add a table [models.NAME] to .agent-workspace/polis.toml; `polis demo` needs no model

command-unusable-url = { $variable } is not a usable URL.
    .hint = set it to an http:// or https:// URL without user, password or query

command-key-variable-missing = The key of the endpoint { $endpoint } is missing: the variable { $variable } is not set.
    .hint = set { $variable }, or change models.{ $name }.key_env

command-key-file-unreadable = The key of the endpoint { $endpoint } is missing: its file cannot be read, or is empty.
    .hint = check the file that models.{ $name }.key_file names
