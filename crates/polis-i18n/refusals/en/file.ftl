### Refusals and failures of file operations in a workspace.

file-hash-mismatch = { $path } has changed since you read it; nothing was changed.
    .hint = read the file again and apply your change to its current content

file-invalid-hash = The expected hash is not a SHA-256 in 64 hexadecimal digits.
    .hint = use the hash returned by reading the file, or omit it

file-directory-not-empty = The directory { $path } is not empty; nothing was changed.
    .cli = use --recursive to delete it with everything in it
    .tool = pass recursive=true to delete it with everything in it
    .screen = check the current state, then decide again

file-partly-deleted = The directory { $path } could not be deleted completely; some of its contents may be gone.
    .hint = { $next }

file-text-not-unique = The text to replace occurs { $count } times in { $path }; nothing was changed.
    .cli = include more of the surrounding text, or use --all
    .tool = include more of the surrounding text, or pass replaceAll=true
    .screen = check the current state, then decide again

file-written-concurrently = Another program is writing to { $path }; nothing was changed.
    .hint = retry when it has finished

file-too-large-to-edit = { $path } exceeds { $limit } bytes, the maximum size for edits; nothing was changed.
    .hint = edit it with a command, such as sed

file-edit-too-large = { $path } would exceed { $limit } bytes, the maximum size for edits; nothing was changed.
    .hint = edit it with a command, such as sed

file-text-not-found = The text to replace was not found in { $path }; nothing was changed.
    .hint = read the file, and give the text exactly as it is in the file, including whitespace

file-text-not-found-cr-lf = The text to replace was not found in { $path }; nothing was changed.
    .hint = the lines of this file end with \r\n; use the same line endings

file-empty-old-text = The text to replace is empty.
    .hint = give the text exactly as it is in the file; to create a file, write it instead of editing it

file-link-loop = The symbolic links at { $named } form a loop, or must not be followed.
    .hint = remove the link, or use the path of its target

file-access-denied = Permission denied for { $named }; nothing was changed.
    .hint = check the owner and permissions of the file and its directory

file-read-only-file-system = { $named } is on a read-only file system; nothing was changed.
    .hint = write elsewhere, or have the file system mounted read-write

file-path-too-long = The path, or a name in it, is too long for this file system.
    .hint = use shorter names or fewer directories

file-disk-full = The disk is full: { $named } was not written; nothing was changed.
    .hint = free some space and retry

file-disk-quota-exhausted = The disk quota is exhausted: { $named } was not written.
    .hint = delete what is not needed, or have the quota raised

file-maximum-file-size = { $named } would exceed the maximum file size; nothing was changed.
    .hint = write less, or have the limit raised

file-too-many-open-for-reading = Too many open files.
    .hint = retry; if it persists, have the limit of open files raised

file-too-many-open-for-writing = Too many open files.
    .hint = retry; if it persists, have the limit of open files raised

file-not-read = { $path } could not be read.
    .hint = retry; if it persists, check the disk

file-not-written = { $path } could not be written.
    .hint = retry; if it persists, check the disk

file-not-found = The file { $path } does not exist.
    .hint = list the directory

file-link-leaves-workspace = A symbolic link in { $path } leads out of the workspace.
    .hint = use a path inside the workspace; links must be relative

file-link-to-reserved-name = A symbolic link in { $path } leads to { $project_data_dir }, which is reserved for the data of a polis project.
    .hint = use another path; delete the link if nothing else needs it

file-workspace-replaced = The workspace's directory was replaced by another one or a link after it was bound; nothing was changed.
    .cli = check the directory; have the person bind the workspace again: `polis ws bind`
    .tool = check the directory; ask the person who runs polis to bind the workspace again
    .screen = correct the input

file-is-a-directory = { $path } is a directory.
    .hint = name a file in it, or list the directory

file-not-a-directory = { $path } is not a directory, or a component of the path is not one.
    .hint = list the parent directories to find the component

file-not-a-file = { $path } is neither a file nor a directory, but a pipe, a socket, a device or a link.
    .hint = use another path

file-already-exists = The file { $path } already exists; nothing was changed.
    .hint = use another name, or overwrite the file

file-locked = { $path } is locked by another process; nothing was changed.
    .hint = retry; if it persists, a command in the workspace keeps the file locked

file-workspace-gone = The directory of the workspace no longer exists.
    .hint = have it restored, or have the workspace bound to another directory

file-workspace-itself = The workspace itself cannot be deleted, moved or replaced.
    .hint = name a file or directory in it

file-target-not-empty = The directory { $path } is not empty; nothing was changed.
    .hint = delete it first, or use another name

file-other-file-system = Source and target are on different file systems; nothing was changed.
    .hint = copy the file, then delete the old one

file-moved-into-itself = The directory { $path } cannot be moved into itself.
    .hint = choose a target outside it

file-not-text = { $path } is not UTF-8 text.
    .cli = use --base64
    .tool = pass encoding=base64
    .screen = correct the input

file-too-large-to-read = { $path } has { $size } bytes; at most { $limit } are read at once.
    .cli = read a part with --lines A-B or --max-bytes N
    .tool = pass startLine and endLine, or maxBytes
    .screen = correct the input

file-invalid-lines = Lines are counted from 1, and the last line must not be before the first.
    .cli = use for example --lines 1-200
    .tool = pass for example startLine=1 and endLine=200
    .screen = correct the input

file-invalid-match-limit = Invalid limit { $limit }: it must be from 1 to { $maximum }.
    .hint = use a limit in this range, or omit it

file-globs-too-long = The globs are longer than { $limit } bytes together.
    .hint = use globs as in .gitignore, such as src/**/*.rs

file-invalid-glob = Invalid glob: { $error }.
    .hint = use globs as in .gitignore, such as src/**/*.rs

file-empty-pattern = The pattern is empty.
    .cli = use a regular expression that matches within one line, or --fixed for plain text
    .tool = use a regular expression that matches within one line, or pass fixed=true for plain text
    .screen = correct the input

file-invalid-pattern = Invalid pattern: { $error }.
    .cli = use a regular expression that matches within one line, or --fixed for plain text
    .tool = use a regular expression that matches within one line, or pass fixed=true for plain text
    .screen = correct the input

file-hash-with-create = An expected hash cannot be combined with creating a new file.
    .cli = use either --expect-hash or --create-only
    .tool = pass either expectedHash or createOnly
    .screen = correct the input

file-not-base64 = The content is not base64.
    .hint = encode the bytes in base64 with padding, or omit encoding

file-quota-uncountable = The workspace has a quota, but its directories are too many or too deep to be counted.
    .hint = delete directories that are not needed

file-quota-exceeded = The workspace may hold { $limit } bytes; other files take { $used }, so { $new } more do not fit.
    .hint = delete what is not needed, or have the quota raised
