### Runtime of a society: headers of messages, notes to members, notices to their supervisors, requests for summaries.
### Members read these texts as part of their conversations.

## Messages

# $message, $sender
society-mail-header = [message { $message } from { $sender }]
# $message, $sender, $other
society-mail-header-reply = [message { $message } from { $sender }, in reply to { $other }]
# $shown, $size, $call
society-mail-truncated = [truncated: { $shown } of { $size } bytes shown; for the rest: { $call }]

## Compaction

society-summary-request = Your context is nearly full. Write a summary of the conversation so far, for yourself: what was asked, what is decided, what is done (files, tasks, artifacts and messages by name or number), what is open, what you were about to do next. Answer with the summary alone and call no tool. Leave out your role, brief and open tasks: every prompt contains them.
society-transcript-intro = This is your conversation so far; long parts are truncated.
society-summary-header = [summary of the conversation so far; earlier messages are no longer shown]
society-digest-header = [the conversation was too long and was truncated; these are its last parts, shortened]
society-bytes-removed = [… { $count } bytes …]

## Notes to a member about its answer

society-truncated-response = [your answer was truncated because it was too long; continue with a shorter one, in several steps if necessary]
society-content-filter = [your answer was blocked by the model provider's content filter; try another way]
society-missing-calls = [your answer announced tool calls but contained none; make the calls now, or say that you are done]
society-empty-response = [your answer was empty; continue your work, or say in one sentence that you are done or waiting]
# $total, $executed, $dropped
society-dropped-calls = [your answer asked for { $total } calls; only the first { $executed } were executed. Make the other { $dropped } in your next answers]

## Repeated calls

# $tool, $count
society-repeated-call = { $tool } was called with these arguments in { $count } of your last answers; it was not executed again.
society-repeated-call-hint = do something else, or stop calling tools and wait for a message; to wait for something, wait longer in one call
# $tool, $count
society-same-result = { $tool } with these arguments had the same result in { $count } of your answers; it was not executed again.
society-same-result-hint = do something else, or stop calling tools and wait for a message

## Notices to a supervisor

society-no-response-notice = { $agent } has ended its turn without an answer: its model's answer was empty, also on a second request. Check its work, and send it a message to continue.
# $agent, $reason
society-parked-notice = { $agent } is parked: its model keeps failing ({ $reason }). It continues when `user` resumes it.
# $agent, $tool
society-loop-notice = { $agent } is paused: it called { $tool } with the same arguments repeatedly. Tell it what to do instead; it continues when `user` resumes it.
# $agent, $reason
society-budget-notice = { $agent } is paused: { $reason } It continues when `user` raises the budget and resumes it.

## Reasons of a status, for people and for the notices

society-empty-response-reason = the model's answer was empty, also on a second request
society-incomplete-responses-reason = the model's answers are repeatedly truncated, blocked or incomplete
society-incomplete-responses = its answers are repeatedly truncated, blocked or incomplete
society-context-too-small = the context limit is too small for the role and the brief
society-loop-reason = { $tool } was called repeatedly with the same arguments
society-paused-by = paused by { $agent }
society-time-budget-used = The time budget is used up.
