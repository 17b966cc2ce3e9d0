### Conversations of members with their model.

conversation-title = Conversation
conversation-empty = No turns yet.
conversation-later = Later
conversation-shortened = These turns are long; not all of them are shown.
conversation-show-rest = Show the rest
conversation-summarized-mark = summarized
conversation-received-mark = received
conversation-calls-mark = calls
conversation-result-mark = result
conversation-note-prefix = Note:{" "}
conversation-turns-summarized = Earlier turns were summarized
conversation-call-running = Running
conversation-call-failed = Failed
conversation-call-denied = Denied
conversation-call-arguments = Arguments
conversation-call-result = Result
conversation-rest-not-shown = The rest is not shown.
