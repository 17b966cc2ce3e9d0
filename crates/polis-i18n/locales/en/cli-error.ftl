### Errors as the command line prints them.

cli-error-message = Error: { $message }
cli-error-hint = Hint: { $hint }
cli-error-cause = Cause: { $cause }
cli-error-merge-result = Merge result, with conflict markers:
cli-error-changes = Changes since the version you read:
