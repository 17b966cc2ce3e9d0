### Problems of task files, in the report of an import and in its refusals.

task-file-fault = { $file }: { $problem }

task-file-not-a-file = not a file
task-file-too-large = { $bytes } bytes; at most { $max_bytes } are accepted
task-file-not-utf8 = not UTF-8
task-file-unreadable = cannot be read: { $error }
task-file-not-an-object = not a JSON object: { $error }
task-file-nested-too-deeply = nested { $depth } deep; at most { $max_depth } is accepted
task-file-unpaired-surrogate = a string contains an unpaired surrogate
task-file-contains-nul = a text contains NUL
task-file-field-missing = no { $key }
task-file-field-not-a-text = { $key } is not a text
task-file-unknown-status = unknown status { $value }
task-file-id-not-a-number = the id { $value } is not a decimal number
task-file-id-out-of-range = the id { $id } is out of range
task-file-version-out-of-range = the version { $version } is out of range
task-file-already-exists = task { $id } already exists with different content

task-file-id-from-file-name = no id: taken from the file name, { $id }
task-file-other-id-in-name = the file is named { $file_id } but contains the id { $id }, which is used
task-file-id-normalized = the id { $value } was normalized to "{ $id }"
task-file-number-used-twice = the number { $old } is used twice; this task is now { $id }
task-file-status-added = no status: set to pending
task-file-texts-too-long = The subject or description exceeds the limits of texts. Imported unchanged.
task-file-key-twice = { $key } appears twice; the last value is used
task-file-value-dropped = { $key } { $value } cannot be used; dropped
task-file-value-kept = { $key } { $value } is kept but cannot be used
task-file-time-kept = { $key } is kept but is not an ISO 8601 time
task-file-list-dropped = { $key } { $value } is not a list; dropped
task-file-entry-twice = { $key } named { $id } twice
task-file-entry-not-an-id = { $key } named { $value }, which is not a task id; dropped
task-file-entry-is-itself = { $key } named { $id }, itself; dropped
task-file-entry-unknown = { $key } named { $id }, a task that does not exist; dropped
task-file-entry-skipped = { $key } names { $id }, which was skipped; reference dropped
task-file-entry-added = { $key } lacked { $id }, which named this task; added
task-file-entry-closes-cycle = blockedBy named { $id }, which closes a cycle; dropped on both sides
