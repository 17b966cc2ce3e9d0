### Overview: current work, items that need attention, team health.

overview-running-commands = Running commands
overview-latest-events = Latest events
overview-needs-attention = Needs your attention
overview-nothing-needs-attention = Nothing needs your attention.

overview-items-hidden =
    { $more ->
        [one] { $more } more item; it appears once some of these are handled.
       *[other] { $more } more items; they appear once some of these are handled.
    }

overview-wants-to-complete = wants to complete this task; approval is required first.
overview-lease-expired-of = let the lease expire
overview-decision-card-title = Decision
overview-proposed-by = proposed by
overview-review = Review
overview-tasks-in-progress = In progress
overview-no-task-in-progress = No task is in progress.
overview-create-task = Create a task
overview-lease-expired = lease expired
overview-unassigned = unassigned
overview-view-all = View all

# $registered, $roots
overview-registered-and-roots =
    { $roots ->
        [one] { $registered } registered, { $roots } run root
       *[other] { $registered } registered, { $roots } run roots
    }

overview-no-agents = No agents yet. Register one, or start a run:
overview-agents-working = working
overview-agents-idle = Idle:
overview-calling-prefix = calling{" "}
overview-task-label = task

overview-commands-hidden =
    { $hidden ->
        [one] { $hidden } more is running; see the command log of its workspace.
       *[other] { $hidden } more are running; see the command logs of their workspaces.
    }

overview-workspace-label = workspace
overview-output-beginning-omitted = The beginning is omitted.

## Counts; the number precedes them

overview-count-in-progress = in progress
overview-count-pending = pending
overview-count-completed = completed

overview-count-registered-agents =
    { $count ->
        [one] registered agent
       *[other] registered agents
    }

overview-count-events =
    { $count ->
        [one] event
       *[other] events
    }

## Team health

overview-team-health = Team health
overview-health-period = Period
overview-health-hours = Hours
overview-health-days = Days
overview-health-role-match = Role match
overview-health-role-match-explanation = tasks assigned to the required role
overview-health-conflicts = Conflicts
overview-health-conflicts-explanation = updates refused because of a newer version
overview-health-cross-role = Cross-role claims
overview-health-cross-role-explanation = tasks assigned to another role
overview-health-invalid-transitions = Invalid transitions
overview-health-invalid-transitions-explanation = status changes that the rules refuse
overview-health-completed-explanation = tasks completed
overview-health-created = Created
overview-health-created-explanation = tasks created
