### Tools and their parameters as models see them. They are part of every request, so they are as short as they can be.

## Tasks

TaskCreate = Add a task to the team's board.
    .subject = One line, max 1000 characters.
    .description = Details.
    .activeForm = Shown while in progress.
    .metadata = Any JSON object.
    .requiredRole = Role of its owner.
    .taskType = Kind of work.
    .priority = Default normal.
    .addBlocks = Tasks waiting for it.
    .addBlockedBy = Tasks it waits for.

TaskList = List tasks by number.
    .roleFilter = Claimable or owned by this role.
    .status = Only in this status.
    .owner = Only this agent's.
    .taskType = Only of this type.
    .priority = Only with this priority.
    .ready = Only claimable now.
    .search = Words in subject or description.
    .newest = Newest first.
    .limit = Default 50, max 1000.

TaskGet = Read a task in full.
    .taskId = Task number.

TaskUpdate = Change or complete a task.
    .taskId = Task number.
    .status = New status.
    .subject = New subject.
    .description = New description.
    .activeForm = New progress text.
    .owner = Empty releases it.
    .metadata = Merged in; null removes a key.
    .addBlocks = Tasks waiting for it.
    .addBlockedBy = Tasks it waits for.
    .removeBlocks = No longer wait for it.
    .removeBlockedBy = It no longer waits for.
    .requiredRole = Empty removes it.
    .taskType = Empty removes it.
    .priority = New priority.
    .expectedVersion = Only if still this version.

TaskClaim = Claim and start a task before you work on it.
    .taskId = Default: the best ready one.
    .expectedVersion = Only if still this version.
    .leaseMs = Claim expires after it; max 31622400000.

TaskRelease = Give up a task that you own.
    .taskId = Task number.
    .expectedVersion = Only if still this version.

TaskHeartbeat = Renew your claim of a task.
    .taskId = Task number.
    .leaseMs = Default unchanged, max 31622400000.

TaskApprove = Approve a task's completion (team lead).
    .taskId = Task number.
    .note = Your note.
    .expectedVersion = Only if still this version.

TaskRecommend = Rank the tasks you could claim, with reasons.
    .limit = Default 5, max 100.

TaskComment = Comment on a task.
    .taskId = Task number.
    .body = Text; @name mentions an agent.
    .replyTo = Comment it replies to.

TaskComments = Read a task's comments, oldest first.
    .taskId = Task number.
    .before = `earlier` of the later page.
    .newest = Begin at the end.
    .limit = Default 50.

TaskHistory = Read a task's changes, oldest first.
    .taskId = Task number.
    .limit = Default 50.

TaskStats = Get the team's task statistics.
    .since = From this time, such as 2026-02-15T00:00:00Z.
    .until = Before this time.
    .by = Also by period.

## Boards

whiteboard_list = List the boards you may read, with versions.
    .limit = Default 50.

whiteboard_read = Read a shared Markdown board.
    .board = global, top, mid/ROLE or bottom/AGENT.
    .ifNewerThan = Version you have; no text if unchanged.
    .section = Heading; default all.

whiteboard_write = Replace a board's text.
    .board = As for whiteboard_read.
    .content = New text.
    .expectedVersion = Version you read; required unless empty.

whiteboard_append = Append a signed entry to a board.
    .board = As for whiteboard_read.
    .content = Entry.

whiteboard_section = Change one section of a board.
    .board = As for whiteboard_read.
    .title = Heading.
    .act = set and append create a missing one.
    .content = Text to set or append.
    .expectedVersion = Only if still this version.
    .expectedSection = `sectionVersion` you read.

whiteboard_lock = Lock a board against other writers.
    .board = As for whiteboard_read.
    .ttlMs = Default 5000, max 3600000.
    .token = Lock to renew.

whiteboard_unlock = Release your lock of a board.
    .board = As for whiteboard_read.
    .token = Token of the lock.

whiteboard_history = List a board's versions, newest first.
    .board = As for whiteboard_read.
    .limit = Default 50.

whiteboard_show = Read an older version of a board.
    .board = As for whiteboard_read.
    .version = Version to read.

whiteboard_diff = Compare two versions of a board.
    .board = As for whiteboard_read.
    .from = Older version.
    .to = Default: the current one.

whiteboard_restore = Make an older version the current one.
    .board = As for whiteboard_read.
    .version = Version to restore.
    .expectedVersion = Only if still this version.

whiteboard_decisions = List the decisions on a board.
    .board = As for whiteboard_read.

whiteboard_decide = Propose a decision, or sign, veto or appeal one.
    .board = As for whiteboard_read.
    .act = `appeal` reopens a rejected one.
    .id = Decision; not for propose.
    .content = Proposal.
    .milestone = Milestone it declares reached.
    .reason = Reason of a veto.

whiteboard_milestones = List the milestones on a board.
    .board = As for whiteboard_read.

whiteboard_milestone = Add a milestone, or mark it done.
    .board = As for whiteboard_read.
    .title = Title of the milestone.
    .add = Its description; omit to mark it done.

## Blackboard

blackboard_read = Read a shared Markdown file.
    .path = Such as tasks/5/status.md.

blackboard_write = Write a shared Markdown file.
    .path = As for blackboard_read.
    .content = Text.
    .mode = Replace it, or append.

## Files

read_file = Read a file, or lines of it.
    .path = Relative to the workspace.
    .startLine = First line, from 1.
    .endLine = Last line.

write_file = Create or replace a file, with its directories.
    .path = Relative to the workspace.
    .content = Whole content.
    .encoding = Default utf8.
    .expectedHash = Only if still this SHA-256.
    .createOnly = Never overwrite.

edit_file = Replace text in a file.
    .path = Relative to the workspace.
    .oldText = Exact text.
    .newText = Replacement.
    .replaceAll = Default: exactly one.
    .expectedHash = Only if still this SHA-256.

delete_file = Delete a file or directory.
    .path = Relative to the workspace.
    .recursive = With everything in it.

move_file = Move or rename a file or directory.
    .from = Relative to the workspace.
    .to = Relative to the workspace.
    .overwrite = Replace an existing file.

make_dir = Create a directory, with its parents.
    .path = Relative to the workspace.

list_files = List a directory of your workspace.
    .path = Default: the workspace.
    .recursive = With subdirectories.
    .limit = Default 50.

search_files = Search files for matching lines.
    .pattern = Regular expression.
    .path = Default: all.
    .globs = As in .gitignore; ! excludes.
    .fixed = Plain text.
    .ignoreCase = Ignore case.
    .all = Also hidden and ignored files.
    .limit = Default 200, max 10000.

get_workspace_info = Get the size of your workspace.

## Commands

run_command = Run a sandboxed shell command in your workspace.
    .command = Command line.
    .timeoutMs = Time limit.

list_commands = List running and finished commands, newest first.
    .workspace = In the workspace of this agent.
    .agentId = Run by this agent.
    .running = true: only running ones; false: only finished ones.
    .before = `next` of the previous page.
    .limit = Default 50, max 200.

show_command = Read a command's output, also while it runs.
    .id = Id of the command.

## Messages and artifacts

send_message = Send a message.
    .to = Agent, user, role:ROLE, or a list.
    .payload = Text or JSON.
    .replyTo = Message it replies to.
    .delayMs = Deliver later; max 2592000000.

check_messages = Read new messages; marks them read.
    .limit = Default 20, max 100.
    .waitMs = Wait for one; max 60000.
    .since = Reread after this number, unmarked.

put_artifact = Store text or JSON; returns its ref.
    .type = Such as spec or report.
    .content = Text or JSON.
    .meta = JSON object.

get_artifact = Read an artifact.
    .ref = `artifact:ID`.

## Agents

list_agents = List the registered agents.
    .limit = Default 50.

show_agent = Show an agent's role, layer and supervisor.
    .id = Agent.

add_agent = Register an agent.
    .id = Its id, such as backend-1.
    .name = Display name; default: the id.
    .role = Such as backend-leader.
    .layer = Default: below its supervisor, or as its role.
    .supervisor = Agent above it; default root.

retire_agent = Retire an agent that has no unfinished tasks and no active direct reports.
    .id = Agent to retire.

## Society

create_role = Create a role for agents you hire: a name and a prompt.
    .name = Such as programmer.
    .rolePrompt = Its prompt.
    .tools = Tools or groups; default: yours.
    .model = Default: the configured one.
    .approve = Tools that need a person's approval.

find_role_by_name = Find a role of your run.
    .name = Its name.

spawn_agent = Hire an agent below you. It waits for your first message. taskBrief: {"{"}objective, constraints[], inputs, outputs, completionCriteria, collaborators[], references[], priority{"}"}.
    .roleId = Role by id.
    .role = Role by name.
    .taskBrief = What it has to do.
    .name = Display name.
    .budget = {"{"}tokens, turns, commands, wallMs{"}"} for it and agents below it.

terminate_agent = Dismiss an agent below you; its workspace is kept.
    .agentId = With all agents below it.
    .reason = Why it is dismissed.

get_org = List the members of your run.
    .runId = Default: yours.
    .all = Also dismissed members.

start_run = Start a run with a requirement for root.
    .requirement = What the run has to achieve.
    .message = First message to root; default: the requirement.
    .runId = Id of the new run; default: generated.
    .team = Team template.
    .budget = {"{"}tokens, micros (millionths of the currency), turns, commands, wallMs{"}"} for the whole run.
    .roles = As for create_role; `root` is root's own role.
    .approve = Tools that need a person's approval.

list_runs = List the runs.
    .status = Default: all but stopped ones.
    .all = Also stopped runs.
    .limit = Default: all.

show_run = Show one run.
    .runId = Run to show.

stop_run = Stop a run and dismiss all its members.
    .runId = Run to stop.

tell_run = Send a message to root or another member of a run.
    .runId = Run that gets the message.
    .to = Agent, role:ROLE, or a list; default root.
    .payload = Text or JSON.
    .replyTo = Message it replies to.

pause_society = Pause a run or a member.
    .runId = Default: the member's run.
    .agentId = Member to pause; default: the whole run.
    .subtree = With all agents below it.
    .reason = Shown in its status.

resume_society = Resume a run or a member.
    .runId = Default: the member's run.
    .agentId = Member to resume; default: the whole run.
    .subtree = With all agents below it.
    .reason = Shown in its status.

set_budget = Set the budget of a run or a member.
    .runId = Default: the member's run.
    .agentId = Member, with all below it; default: the whole run.
    .budget = Lifetime limits: {"{"}tokens, micros (millionths of the currency), turns, commands, wallMs{"}"}; omitted ones stay.
    .replace = Remove omitted limits.

list_members = List the members of runs and their status.
    .runId = Only in this run.
    .status = Default: all but dismissed members.
    .limit = At most 1000.

list_roles = List the roles of a run.
    .runId = Default: yours.

read_conversation = Read a member's conversation.
    .agentId = Member whose conversation it is.
    .runId = Required for root.
    .from = First turn; default: the newest turns.
    .limit = Default 20 turns, max 200.

list_approvals = List the tool calls that need approval.
    .runId = Only in this run.
    .all = Also decided ones.
    .limit = Default: all.

decide_approval = Allow or deny a pending tool call.
    .id = Id of the approval.
    .allowed = Whether the call is allowed.
    .note = Reason or instructions for the agent.

## Event log, overview and webhooks

read_log = Read the event log, oldest first.
    .since = After this number.
    .before = Backwards from this number.
    .limit = Default 50, max 1000.
    .subject = Such as task/5.
    .kind = Such as task.completed; `task.`: all.
    .actor = Caused by this agent.
    .text = Contains this text.

get_overview = Count tasks, agents and events.

add_webhook = Register a webhook that receives events.
    .url = http:// or https:// address.
    .kinds = Such as task.completed, or `task.` for all of them; default: all.
    .since = Events after this number; default: new ones.

list_webhooks = List the webhooks.

remove_webhook = Remove a webhook.
    .id = Webhook to remove.

## The runtime's own tools, for members of a run

compress_context = Compact your context: everything before this step is replaced by `summary`, or, if you give none, by a summary you are asked for.
    .summary = Summary of the conversation so far: everything you must not forget.

get_context_status = Report how full your context is.
