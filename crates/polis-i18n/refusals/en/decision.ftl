### Refusals about board decisions and milestones.

decision-not-found = Decision { $id } not found on this board.
    .cli = list the decisions with `polis board decisions BOARD`
    .tool = list the decisions with `whiteboard_decisions`
    .http = list the decisions with `GET /v1/boards/{"{"}board{"}"}/decisions`
    .screen = reload the page: it may no longer exist

decision-empty = Invalid decision: it is empty.
    .hint = describe what is to be decided

decision-not-a-signer = "{ $agent }" may not { $action } decision #{ $decision }. Signers: { $signers }.
    .hint = ask one of the signers

decision-no-signers = "{ $agent }" may not { $action } decision #{ $decision }. Signers: the person.
    .hint = ask one of the signers

decision-approved = Decision #{ $decision } is { $status } and cannot be { $action }.
    .hint = propose a new decision; an approved one is final

decision-rejected = Decision #{ $decision } is { $status } and cannot be { $action }.
    .hint = appeal it first, or propose a new decision

decision-open = Decision #{ $decision } is { $status } and cannot be { $action }.
    .hint = sign or veto it; only a rejected decision can be appealed

decision-milestone-exists = The board already has a milestone { $title }.
    .hint = choose another title

decision-milestone-not-found = Milestone { $title } not found on this board.
    .cli = list the milestones with `polis board milestones BOARD`
    .tool = list the milestones with `whiteboard_milestones`
    .http = list the milestones with `GET /v1/boards/{"{"}board{"}"}/milestones`
    .screen = reload the page: it may no longer exist

decision-milestone-colon = Invalid milestone title: it contains a colon.
    .hint = a colon separates the title from the description; move the rest there
