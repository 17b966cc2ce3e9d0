### `polis demo` and `polis demo board`.

## The development team

cli-demo-requirement = Create a simple calculator program: a shell script that evaluates expressions such as 2 * (3 + 4) with whole numbers, brackets and + - * / %. It must need nothing but POSIX sh.

cli-demo-introduction =
    A team of agents builds a program: "{ $requirement }"

    The model is a RECORDING: its answers were written in advance and are played back; no model is called.
    Everything else is real: hiring, messages, files, and commands in the sandbox.

cli-demo-in-sandbox = (in the sandbox, { $tier })
cli-demo-test-failed = THE TEST DID NOT PASS.

# $polis: the program, $home: the demo's directory, $directory: that of the delivered program
cli-demo-next-steps =
    Open the page:   { $polis } --dir { $home } open
    Try the program: sh { $directory }/calc.sh '7 * 6'
    Look closer:     { $polis } --dir { $home } society tree --all
    Your own team:   export OPENAI_API_KEY=..., then { $polis } run "REQUIREMENT"
    Remove the demo: rm -r { $home }

## The task board

# $processes, $tasks
cli-demo-board-team = A team of { $processes } processes and { $tasks } tasks, on one board:

cli-demo-board-explanation = each claims the tasks that are ready for its role; one is killed (kill -9) while it works.
cli-demo-board-kept = The board is kept: polis --dir { $directory } task list

# $agent, $task
cli-demo-worker-killed = { $agent } was killed while it held { $task }

# $completed, $total, $tasks
cli-demo-board-completed = { $completed } of { $total } tasks completed exactly once; taken over after the kill: { $tasks }.

# $percent, $count
cli-demo-board-health = Role match { $percent }%, invalid transitions { $count }.

# $entries, $total, $milestones, $version
cli-demo-board-entries = The global whiteboard has { $entries } of { $total } entries, each complete and exactly once, and { $milestones } milestone reached (version { $version }).

cli-demo-sandbox-missing = This machine cannot confine commands, so none was run; `polis doctor` shows why.

# $agent, $tier, $output, $problem
cli-demo-sandbox-result = In the team's workspace { $agent } wrote check.sh and ran it in a sandbox ({ $tier }): { $output }. Access outside it: { $problem }.

cli-demo-own-board = Your own board: polis init, then polis task create --subject "..." and polis task claim.

## What the task board and its whiteboard contain

cli-demo-milestone = Launch
cli-demo-milestone-description = the shop is live

# $task, $subject
cli-demo-board-entry = Finished #{ $task }: { $subject }

cli-demo-checks-passed = all checks passed
cli-demo-task-requirements = Clarify what the shop must do
cli-demo-task-payment-research = Compare payment providers
cli-demo-task-architecture = Design the architecture
cli-demo-task-api = Design the API
cli-demo-task-screens = Sketch the screens
cli-demo-task-catalogue = Implement the catalogue
cli-demo-task-basket = Implement the basket
cli-demo-task-payments = Implement payments
cli-demo-task-invoices = Implement invoices
cli-demo-task-catalogue-page = Build the catalogue page
cli-demo-task-checkout-page = Build the checkout page
cli-demo-task-catalogue-test = Test the catalogue
cli-demo-task-checkout-test = Test the checkout
cli-demo-task-servers = Prepare the servers
cli-demo-task-manual = Write the manual
cli-demo-task-launch = Go live
