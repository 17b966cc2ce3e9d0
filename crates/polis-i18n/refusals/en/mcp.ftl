### Refusals of MCP requests that are not calls of tools.

mcp-too-many-concurrent = You already have { $count } concurrent { $what ->
        [tool-calls] tool calls
        [commands] commands
       *[other] subscription streams
    }.
    .hint = wait until one of them has finished

mcp-groups-not-utf8 = The tool groups in the URL are not UTF-8.
    .hint = select tool groups with, for example, ?tools=tasks,boards

mcp-arguments-not-an-object = The tool's arguments are not a JSON object.
    .hint = pass the arguments as an object that matches the tool's input schema

mcp-other-session = The session belongs to another caller.
    .hint = start your own session with initialize
    .screen = enter a valid token, or sign in with a new link from `polis open`

mcp-stream-not-prepared = The subscription stream was not prepared.
    .hint = send the request again

mcp-no-prompt = There is no prompt { $name }.
    .hint = list the prompts and use one of their names

mcp-invalid-argument = The argument { $argument } { $problem ->
        [not-a-string] must be a string
        [too-long] must have at most 4,000 characters
       *[other] is required
    }.
    .hint = see the prompt's arguments in prompts/list

mcp-no-resource = There is no resource at { $uri }.
    .hint = use polis://tasks, polis://task/ID, polis://board/NAME, polis://blackboard/PATH or polis://file/PATH

mcp-invalid-cursor = { $cursor } is not a valid cursor.
    .hint = start again without a cursor, then pass the nextCursor of each response
    .screen = correct the input

mcp-binary-too-large = The file has { $size } bytes and is not text; binary resources may have at most { $max_binary_bytes } bytes.
    .hint = read a part of it with run_command, or read it with read_file and encoding=base64
    .screen = correct the input

mcp-too-many-subscriptions = You already subscribe to { $max_subscriptions } resources.
    .hint = unsubscribe from some of them first

mcp-files-not-watched = Workspace files have no change notifications.
    .hint = subscribe to tasks and boards; read files when you need them

mcp-cannot-read-board = Permission denied: "{ $agent }" cannot read { $board }.
    .hint = list the resources to see which ones you may read
