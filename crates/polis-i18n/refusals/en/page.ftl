### Refusals of web pages: forms, sign-in and pages that do not exist.

page-form-too-large = The form is larger than 12 MiB, or was not received completely.
    .hint = submit less text at once

page-csrf-token-invalid = The request did not come from a page of this session: its CSRF token is missing or wrong.
    .hint = reload the page and try again

page-excerpt-failed = The page could not be rendered: { $error }.
    .hint = reload the page

page-invalid-value = A value in the URL or the form is invalid, for example text where a number is expected.
    .hint = go back, reload the page and try again

page-invalid-topics = The list of subscribed names is missing or invalid.
    .hint = name up to { $max_topics } areas or subjects, such as about=task,board/global

page-sign-in-from-other-site = The sign-in request came from another site.
    .hint = open the sign-in link directly

page-too-many-failed-sign-ins = Too many failed sign-in attempts from this address.
    .hint = wait { $seconds } seconds

page-unknown-decision-action = The action on the decision is missing or unknown.
    .hint = use propose, sign, veto or appeal

page-decision-not-found = This board has no such decision.
    .hint = go back to the board

page-too-long-to-edit = The text is too long to be edited in a browser.
    .hint = edit one of its sections from the table of contents, or append to it

page-field-missing = `{ $field }` is missing.
    .hint = reload the page and try again

page-board-not-shown = The board could not be shown: { $error }.
    .hint = reload the page

page-no-page = There is no page at this URL.
    .hint = choose one of the tabs above

page-approval-gone = This call no longer needs approval.
    .hint = go back to the overview

page-not-a-task-number = { $text } is not a task number.
    .hint = enter task numbers separated by commas, such as 3, 7

page-download-too-large = The file is { $size }; at most { $limit } can be downloaded.
    .hint = open it in the workspace's directory

page-file-cut-short = The file was not read completely.
    .hint = try again

page-no-own-workspace = { $agent } has no workspace of its own.
    .hint = choose one from the list
