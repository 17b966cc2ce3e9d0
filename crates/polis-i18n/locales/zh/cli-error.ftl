### Errors as the command line prints them.

cli-error-message = 错误：{ $message }
cli-error-hint = 提示：{ $hint }
cli-error-cause = 原因：{ $cause }
cli-error-merge-result = 合并结果，带冲突标记：
cli-error-changes = 自您读取的版本以来的变更：
