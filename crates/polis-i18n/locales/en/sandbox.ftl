### Sandbox of this machine: layers, what they do, why they are missing.

## Layers

sandbox-layer-user = user
sandbox-layer-namespaces = namespaces
sandbox-layer-landlock = landlock
sandbox-layer-seccomp = seccomp
sandbox-layer-control-group = control group
sandbox-layer-without-namespaces = without namespaces

## Details

sandbox-command-user = commands of root run as user { $uid }
sandbox-current-user = commands run as the user polis runs as
sandbox-namespaces = user, mount, pid, ipc, uts, network
sandbox-landlock-scoped = interface { $version }: files, network, signals, abstract sockets

# $version, $required
sandbox-landlock-unscoped = interface { $version }: files; signals and abstract sockets only from { $required } on

sandbox-landlock-missing = the kernel has no Landlock, or it is switched off
sandbox-filter-accepted = filter accepted
sandbox-memory-group = memory (interface 1); processes by limits
sandbox-memory-and-process-group = memory and processes (interface 2)
sandbox-namespaces-dispensable = Landlock and seccomp alone suffice
sandbox-file-modes-unprotected = ; modes and times of all files of this user could be changed
sandbox-processes-unprotected = ; processes of the commands' user could be signalled
sandbox-failed-before = disabled: it has failed before
