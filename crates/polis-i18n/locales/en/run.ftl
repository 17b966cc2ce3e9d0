### Runs: statuses, pages.

run-reason-field = Reason
run-duration = after { $span }
run-none-active = No active runs. Start one in a terminal:
run-example-requirement = Build a small web shop
run-prefix = Run{" "}
run-all-agents = All agents
run-requested-by-prefix = requested by{" "}
run-team-template-prefix = team template{" "}
run-title = Run { $id }
run-hired-in-total = hired in total
run-entire = Entire run
run-members = Members
run-turns-column = Turns
run-tokens-column = Tokens
run-cost-column = Cost

run-agent-count =
    { $count ->
        [one] 1 agent
       *[other] { $count } agents
    }

run-status-done = Done
run-status-stopped = Stopped

## Stop

run-stop-explanation =
    { $agents ->
        [one] The agent of the run will be dismissed. Its tasks are released; files are kept.
       *[other] All { $agents } agents of the run will be dismissed. Their tasks are released; files are kept.
    }

run-stop-question = Stop run { $id }?
run-stop-confirm = Stop the run
run-stop = Stop the run
