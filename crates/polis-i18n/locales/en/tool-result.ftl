### Results of tools for models: continuations, truncation and ignored arguments, for all tools.

tool-result-list-separator = {", "}

# $names, $count
tool-result-and-more = { $names } and { $count } more

# $first, $second
tool-result-two-notes = { $first }; { $second }

tool-result-ignored-arguments = ignored unknown arguments: { $names }

# $count, $parameter, $next
tool-result-next-page = { $count } shown; for more pass { $parameter }={ $next }

# $next, $size
tool-result-next-offset = truncated at byte { $next } of { $size }; for the rest pass offset={ $next }

tool-result-rest = truncated; for the rest: { $call }
tool-result-bytes-omitted = { $count } bytes omitted

# $shown, $size
tool-result-text-too-long = truncated: { $shown } of { $size } bytes; request less at once

tool-result-document-too-long = truncated because { $size } bytes are too many; request less at once, or a part
tool-result-list-truncated = the list is truncated

# $count, $total
tool-result-part-shown = { $count } of { $total } shown
