### Approval of tool calls.

approval-note-field = Note to the agent (optional)
approval-card-title = Call approval
approval-requested-for = requests approval for
approval-allow = Allow
approval-deny = Deny
