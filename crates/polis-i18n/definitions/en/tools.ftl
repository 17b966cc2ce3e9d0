### Tools and their parameters as models see them. They are part of every request, so they are as short as they can be.
### A tool that is not offered to agents has no texts of parameters: those of its types are used.

## Tasks

TaskCreate = Add a task to the team's board. Returns its number.
    .subject = One line, at most 1000 characters.
    .description = Details.
    .activeForm = Progress text, such as "Writing tests".
    .metadata = JSON object; `priority`: critical, high, normal (default) or low.
    .requiredRole = Role its owner must have.
    .taskType = Kind of work.
    .addBlocks = Tasks that wait for it.
    .addBlockedBy = Tasks it waits for.

TaskList = List tasks by number: status, version, owner, role, type, priority.
    .roleFilter = Tasks this role may claim or owns.
    .status = Status.
    .owner = Owner.
    .taskType = Type.
    .ready = Only claimable now.
    .search = Words in subject or description.
    .newest = Newest first.
    .limit = Default 50, at most 1000.

TaskGet = Read a task in full.
    .taskId = Task number.

TaskUpdate = Change a task, for example complete it.
    .taskId = Task number.
    .status = New status.
    .subject = New subject.
    .description = New description.
    .activeForm = New progress text.
    .owner = New owner; empty releases it.
    .metadata = Merged in; null removes a key.
    .addBlocks = Tasks that wait for it.
    .addBlockedBy = Tasks it waits for.
    .removeBlocks = No longer wait for it.
    .removeBlockedBy = It no longer waits for.
    .requiredRole = New role; empty: none (team lead).
    .taskType = New type; empty: none (team lead).
    .expectedVersion = Version you read; refused if changed since.

TaskClaim = Claim a task before you work on it; this starts it.
    .taskId = Default: the best ready one.
    .expectedVersion = Version you read; refused if changed since.
    .leaseMs = Others may claim after this time; claim again to renew.

TaskRelease = Give up a task that you own; others may claim it.
    .taskId = Task number.
    .expectedVersion = Version you read; refused if changed since.

TaskHeartbeat = Renew your claim of a task while you work on it.
    .taskId = Task number.
    .leaseMs = New duration; default unchanged.

TaskApprove = Approve a task's completion (team lead).
    .taskId = Task number.
    .note = Your note.
    .expectedVersion = Version you read; refused if changed since.

TaskRecommend = Rank the tasks you could claim, with reasons.
    .limit = Default 5, at most 100.

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

## Boards

whiteboard_list = List the boards you may read, with versions.
    .limit = Default 50.

whiteboard_read = Read a shared Markdown board and its version.
    .board = global, top, mid/ROLE or bottom/AGENT.
    .ifNewerThan = Version you have; no text if unchanged.
    .section = Heading; default: all.

whiteboard_write = Replace a board's text.
    .board = As for whiteboard_read.
    .content = New text.
    .expectedVersion = Version you read; required unless empty.

whiteboard_append = Add a signed, dated entry to a board.
    .board = As for whiteboard_read.
    .content = Entry.

whiteboard_section = Change one section of a board.
    .board = As for whiteboard_read.
    .title = Heading.
    .act = Action.
    .content = Text to set or append.
    .expectedVersion = Version you read; refused if changed since.
    .expectedSection = `sectionVersion` you read.

whiteboard_lock = Lock a board against other writers.
    .board = As for whiteboard_read.
    .ttlMs = Default 5000.
    .token = Lock to renew.

whiteboard_unlock = Release your lock of a board.
    .board = As for whiteboard_read.
    .token = Token of the lock.

whiteboard_history = List a board's versions, newest first.
    .board = As for whiteboard_read.
    .limit = Default 50.

whiteboard_show = Read an older version of a board.
    .board = As for whiteboard_read.
    .version = Version.

whiteboard_diff = Compare two versions of a board.
    .board = As for whiteboard_read.
    .from = Older version.
    .to = Default: the current one.

whiteboard_restore = Make an older version current again, as a new version.
    .board = As for whiteboard_read.
    .version = Version.
    .expectedVersion = Version you read; refused if changed since.

whiteboard_decisions = List the decisions on a board.
    .board = As for whiteboard_read.

whiteboard_decide = Propose a decision, or sign, veto or appeal one.
    .board = As for whiteboard_read.
    .act = Action.
    .id = Decision; not for propose.
    .content = Proposal.
    .milestone = Milestone it declares reached.
    .reason = Reason of a veto.

whiteboard_milestones = List the milestones on a board.
    .board = As for whiteboard_read.

whiteboard_milestone = Add a milestone, or mark it done.
    .board = As for whiteboard_read.
    .title = Title.
    .add = Its description; omit to mark it done.

## Blackboard

blackboard_read = Read a shared Markdown file of the team.
    .path = Such as tasks/5/status.md.

blackboard_write = Write a shared Markdown file.
    .path = Such as tasks/5/status.md.
    .content = Text.
    .mode = Mode.

## Files

read_file = Read a file of your workspace, or lines of it.
    .path = Relative to the workspace.
    .startLine = First line, from 1.
    .endLine = Last line.

write_file = Create or replace a file, with its directories.
    .path = Relative to the workspace.
    .content = Whole content.
    .encoding = Default utf8.
    .expectedHash = SHA-256 you read; refused if changed since.
    .createOnly = Never overwrite.

edit_file = Replace text in a file.
    .path = Relative to the workspace.
    .oldText = Exact text.
    .newText = Replacement.
    .replaceAll = Every occurrence; default: exactly one.
    .expectedHash = SHA-256 you read; refused if changed since.

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

search_files = Search files for lines that match.
    .pattern = Regular expression.
    .path = Default: all.
    .globs = As in .gitignore; `!` excludes.
    .fixed = Plain text.
    .ignoreCase = Ignore case.
    .all = Also hidden and ignored files.
    .limit = Default 200, at most 10000.

get_workspace_info = Get the size of your workspace.

## Commands

run_command = Run a shell command in your workspace, sandboxed. Returns exit code and output.
    .command = Command line.
    .timeoutMs = Default 60000.

list_commands = List running and finished commands, newest first.

show_command = Read a command's output, also while it runs.

## Messages and artifacts

send_message = Send a message to agents or the user.
    .to = Agent, `user`, `role:ROLE`, or a list.
    .payload = Text or JSON.
    .replyTo = Message it replies to.
    .delayMs = Deliver later.

check_messages = Read your unread messages; marks them read.
    .limit = Default 20, at most 100.
    .waitMs = Wait if there is none; at most 60000.
    .since = Read again after this number, unmarked.

put_artifact = Store text or JSON for others. Returns its ref.
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

retire_agent = Retire an agent that has no unfinished tasks and no active direct reports.

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
    .budget = For it and agents below it.

terminate_agent = Dismiss an agent below you; its workspace is kept.
    .agentId = With all agents below it.
    .reason = Reason.

get_org = List the members of your run.
    .runId = Default: yours.
    .all = Also dismissed members.

start_run = Start a run with a requirement for root.

list_runs = List the runs.

show_run = Show one run.

stop_run = Stop a run and dismiss all its members.

tell_run = Send a message to root or another member of a run.

pause_society = Pause a run or a member.

resume_society = Resume a run or a member.

set_budget = Set the budget of a run or a member.

list_members = List the members of runs and their status.

list_roles = List the roles of a run.

read_conversation = Read a member's conversation.

list_approvals = List the tool calls that need approval.

decide_approval = Allow or deny a pending tool call.

## Event log, overview and webhooks

read_log = Read the event log, oldest first.
    .since = After this number.
    .before = Backwards from this number.
    .limit = Default 50, at most 1000.
    .subject = Such as task/5.
    .kind = Such as task.completed; `task.`: all.
    .actor = Caused by this agent.
    .text = Contains this text.

get_overview = Count tasks, agents and events.

add_webhook = Register a webhook that receives events.

list_webhooks = List the webhooks.

remove_webhook = Remove a webhook.

## The runtime's own tools, for members of a run

compress_context = Compact your context: everything before this step is replaced by `summary`, or, if you give none, by a summary you are asked for.
    .summary = Summary of the conversation so far: everything you must not forget.

get_context_status = Report how full your context is.
