### Words, labels and buttons that several areas share.

common-role = Role
common-type = Type
common-no-changes = No changes.
common-tab-overview = Overview
common-tab-tasks = Tasks
common-tab-boards = Boards
common-board = Board
common-tab-agents = Agents
common-agent = Agent
common-tab-workspaces = Workspaces
common-tab-events = Events
common-runs = Runs
common-status = Status
common-history = History
common-running = Running
common-interrupted = Interrupted
common-list-separator = ,{" "}
common-paused = Paused
common-version = Version
common-close = Close

# $visible-size, $total-size
common-showing-part = Showing { $visible-size } of { $total-size }.

common-show-all = Show all
common-cancel = Cancel
common-search = Search
common-filter = Filter
common-none = none
common-earlier = Earlier
common-newest = Newest
common-back = Back
common-save = Save
common-theirs = Theirs (current)
common-yours = Yours
common-changes-by-others = Changes by others
common-use-theirs = Use theirs and start over
common-overwrite-with-yours = or overwrite it with yours:
common-size = Size
common-edit = Edit

common-changed-lines-omitted =
    { $count ->
        [one] { $count } more changed line not shown.
       *[other] { $count } more changed lines not shown.
    }

common-unchanged-lines =
    { $count ->
        [one] { $count } unchanged line
       *[other] { $count } unchanged lines
    }
