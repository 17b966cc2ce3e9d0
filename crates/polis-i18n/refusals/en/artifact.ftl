### Refusals about artifacts.

artifact-not-found = There is no artifact { $reference }.
    .hint = use the reference that was returned when it was stored

artifact-invalid-type = The artifact's type is empty, longer than 100 bytes, or has control characters.
    .hint = give a short type such as "spec"

artifact-invalid-meta = The metadata of an artifact must be a JSON object.
    .hint = pass a JSON object, or omit it

artifact-too-large = The artifact is larger than 8 MiB.
    .hint = write it to a file of the workspace and store its path instead

artifact-too-deep = The artifact is nested too deeply, or contains an unpaired surrogate.
    .hint = store a flatter value with valid Unicode text
