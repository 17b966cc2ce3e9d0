### Refusals and failures of the sandbox.

sandbox-too-weak = This system cannot confine the command as strongly as is required: { $reason }.
    .cli = see what is missing with `polis doctor`; `sandbox.weakest` in polis.toml says how weak is allowed
    .tool = ask the person who runs polis what its sandbox lacks; `sandbox.weakest` in polis.toml says how weak is allowed
    .screen = ask the person who runs polis what the sandbox lacks

sandbox-invalid-policy = { $problem ->
        [own-data] A path granted by the sandbox configuration contains polis's own data, or is inside it.
        [system-programs] Polis's own data is inside a directory of system programs, which every command sees; keep the project elsewhere.
       *[other] A path granted by the sandbox configuration is not absolute or does not exist.
    }
    .hint = check `read` and `write` below [sandbox] in polis.toml

sandbox-not-started = The command was not started: { $reason }.
    .cli = run `polis doctor`, or try again
    .tool = try again, or tell the person who runs polis
    .screen = retry; if it persists, check the server log

sandbox-step-failed = { $step } failed: { $error }
sandbox-step-unavailable = { $step }: { $error }
sandbox-no-landlock = the kernel has no Landlock
sandbox-landlock-too-old = Landlock is too old to be used without namespaces
sandbox-loopback-without-namespace = a private loopback device needs a network namespace
sandbox-no-filter = no seccomp filter for this processor architecture
sandbox-contains-project = the workspace contains a polis project, which Landlock alone cannot hide
sandbox-other-owner = the workspace would have to belong to user { $user }, which runs the commands of root
sandbox-parent-inaccessible = a directory above polis's data is not accessible to user { $user }, which runs the commands of root
sandbox-command-has-nul = the command contains a NUL character
sandbox-no-control-groups = no control groups
sandbox-no-group-directory = no control group can be made
sandbox-group-not-created = no control group can be made: { $error }

sandbox-step-session = creating a session
sandbox-step-user = switching the user
sandbox-step-hide = hiding the warden
sandbox-step-copy = cloning a mount tree
sandbox-step-root = creating the new root
sandbox-step-fixture = creating files in the new root
sandbox-step-attributes = setting mount attributes
sandbox-step-attach = attaching a mount tree
sandbox-step-tmp = mounting a private /tmp
sandbox-step-proc = mounting /proc
sandbox-step-pivot = switching to the new root
sandbox-step-name = setting the host name
sandbox-step-loopback = bringing up loopback
sandbox-step-directory = entering the workspace
sandbox-step-privileges = setting no_new_privs
sandbox-step-capabilities = dropping capabilities
sandbox-step-adoption = becoming a subreaper
sandbox-step-start = starting the command
sandbox-step-descriptors = setting up descriptors
sandbox-step-limits = setting limits
sandbox-step-landlock = Landlock
sandbox-step-seccomp = seccomp
sandbox-step-execute = executing the shell
sandbox-step-watch = watching the command
sandbox-step-namespaces = creating namespaces
sandbox-step-mount = mounting the workspace
sandbox-step-scratch-directory = creating a scratch directory
sandbox-step-file-owner = changing the owner of files
sandbox-step-control-group = control group
