### Refusals about the project directory, its trust, its configuration and its team templates.

project-not-created-here = The polis project in { $project } was not created by this user on this machine, or was moved.
    .hint = review its { $project_data_dir }/polis.toml; if it is yours, run `polis trust { $project }`

project-in-other-project-data = { $project } is inside the data of another polis project, where agents have their workspaces.
    .hint = use the project above it, or a directory elsewhere

project-in-agent-workspace = { $project } is inside the workspace of an agent of the project in { $owner }, so an agent may have created it.
    .hint = use that project (--dir { $owner }); if no agent works there now, run `polis trust --release { $workspace }`

project-git-unreadable = git cannot read the repository around { $project }, so a pull may have replaced files of the project.
    .hint = repair it (`git status` shows what is wrong), or review { $project_data_dir } and run `polis trust { $project }`

project-changed-during-git = The configuration of the project in { $project } has changed while git is updating the repository.
    .hint = retry when git has finished; if it was interrupted, remove its index.lock

project-tracked-and-changed = The configuration of the project in { $project } is tracked by git and has changed since it was trusted.
    .hint = review { $files }; if it is as you want it, run `polis trust { $project }`

project-tracked-by-git = { $name } of the project in { $project } is tracked by git, so a pull can replace it.
    .hint = run `git rm -r --cached { $project_data_dir }` there; then, if the data is yours, `polis trust { $project }`, otherwise delete { $project_data_dir }

project-nothing-to-trust = There is no polis project in that directory.
    .hint = name a project directory, which contains .agent-workspace

project-command-still-runs = A command of an agent runs in that workspace.
    .hint = wait until it ends, or stop it; `polis ws commands` shows it

project-not-a-workspace = The directory is not the workspace of an agent, nor in one.
    .hint = name the directory that was bound

project-no-database = There is no database in { $data_dir_name }.
    .hint = run `polis init` here

project-invalid-store = The store is neither a directory nor a postgres:// URL.
    .hint = use --store DIR, or --store postgres://user@host/database

project-config-line = { $config_file }, line { $line }: { $reason }
    .hint = fix the line and run `polis config check`; `polis config show` lists every key

project-config-unreadable = { $config_file } cannot be read.
    .hint = check that it is a text file in UTF-8 and that you may read it

project-rbac-unreadable = { $rbac_file } cannot be read.
    .hint = check that it is a text file in UTF-8 and that you may read it

project-rbac-line = { $rbac_file }, line { $line }: { $reason }
    .hint = fix the line; `polis config check` checks the file

project-team-file = { $teams_dir }/{ $team }/{ $file }.md: { $reason ->
        [no-front-matter] it must begin with front matter between two lines of ---, which contains the role's name
        [not-key-and-value] the line { $detail } of its front matter is not KEY: VALUE
        [no-name] its front matter has no name
        [no-prompt] there is no prompt below its front matter
        [temperature] its temperature is not a number from 0 to 2
        [unknown-key] its front matter has the unknown key { $detail }; known keys are name, tools, approve, model and temperature
        [too-large] it is larger than 256 KiB
        [not-utf8] it is not readable UTF-8 text
        [unknown-placeholder] { $detail } is neither the requirement nor a role's file
        [no-requirement] the placeholder {"{{"}requirement{"}}"} is missing
       *[other] { $reason }
    }.
    .hint = fix the file; `polis society team show` prints the roles a run would start with

project-no-team = There is no team { $name }.
    .hint = use one of { $names }, or put role files into .agent-workspace/{ $teams_dir }/NAME/

project-no-blackboard = There is no blackboard in that directory.
    .hint = check --root and CLAWOS_HOME; the first write creates one

project-task-dir-missing = The directory of task files does not exist.
    .hint = name a directory that contains 1.json, 2.json, …, such as ~/.claude/tasks/LIST

project-trust-record-not-writable = This user's record of trusted projects cannot be written.
    .hint = make the home directory writable, or set { $state_dir_variable } to a directory of this user

project-team-files-without-project = Team files are kept in a project directory, and this store has none on this machine.
    .hint = run `polis init` in the project's directory

project-git-would-commit-data = git would commit the database, locks and private workspaces of this project.
    .hint = run `polis doctor --fix`, or add `*` to .agent-workspace/.gitignore yourself

project-opened-on-second-attempt = The store opened only on the second attempt.
    .hint = run `polis doctor` again

project-mirror-differs = The file of board { $first } differs from the store.
    .hint = `touch` the file to import its text as a new version, or delete it to restore the store's text

project-database-damaged = The database is damaged: { $first }.
    .hint = restore .agent-workspace/polis.db from a backup

project-directory-not-writable = The directory cannot be written.
    .hint = check the permissions of .agent-workspace

project-sandbox-too-weak = Commands are refused: the sandbox of this machine is { $tier }, and { $required } is required for { $role_name }.
    .hint = enable what is missing below, or lower `sandbox.weakest` in polis.toml

project-not-found-here = There is no polis project in this directory or above it.
    .hint = run `polis init` in your project, or name its directory with --dir

project-not-found-there = There is no polis project in that directory.
    .hint = run `polis init` in your project, or name its directory with --dir

project-no-project-or-blackboard = { $problem }
    .hint = run `polis init` in your project, name its directory with --dir, or name a blackboard outside of a project with --root or CLAWOS_HOME; ~/clawos/blackboard is used if it exists

project-create-denied = The directory cannot be written.
    .hint = name a directory that you may write to with --dir

project-create-full = The disk is full.
    .hint = name a directory that you may write to with --dir

project-create-failed = The directory cannot be created.
    .hint = name a directory that you may write to with --dir

project-task-dir-full = The disk is full.
    .hint = name a directory that you may write to

project-task-dir-denied = The directory cannot be written.
    .hint = name a directory that you may write to

project-task-dir-failed = The directory cannot be created or written.
    .hint = name a directory that you may write to
