//! Next steps in a model's words: a hint names commands, a model has tools.

/// What a command is as a tool; the longer name first where one begins like another. Commands that are
/// not here are a person's.
const COMMANDS: &[(&str, &str)] = &[
    ("polis task list", "TaskList"),
    ("polis task ready", "TaskList"),
    ("polis task graph", "TaskList"),
    ("polis task get", "TaskGet"),
    ("polis task claim", "TaskClaim"),
    ("polis task heartbeat", "TaskClaim"),
    ("polis task release", "TaskUpdate"),
    ("polis task approve", "TaskApprove"),
    ("polis task comments", "TaskComments"),
    ("polis agent list", "list_agents"),
    ("polis agent show", "list_agents"),
    ("polis agent tree", "list_agents"),
    ("polis board history", "whiteboard_history"),
    ("polis board decisions", "whiteboard_decisions"),
    ("polis board milestones", "whiteboard_milestones"),
    ("polis blackboard list", "whiteboard_list"),
    ("polis log", "read_log"),
];

/// A hint in which commands that agents have tools for are called by the tools' names.
pub(super) fn for_a_model(hint: &str) -> String {
    let mut told = String::with_capacity(hint.len());
    for (n, part) in hint.split('`').enumerate() {
        let quoted = n % 2 == 1;
        let tool = COMMANDS.iter().find(|(command, _)| {
            let rest = part.strip_prefix(command);
            quoted && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        if n > 0 {
            told.push('`');
        }
        told.push_str(tool.map_or(part, |(_, name)| name));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Tool;

    #[test]
    fn commands_become_tools_that_there_are() {
        for (command, tool) in COMMANDS {
            assert!(Tool::find(tool).is_ok_and(|tool| tool.listed), "{tool}");
            let hint = format!("try `{command} 5 --x`, or `x`");
            assert_eq!(for_a_model(&hint), format!("try `{tool}`, or `x`"));
        }
    }

    #[test]
    fn what_is_no_such_command_stays() {
        for hint in [
            "",
            "`",
            "``",
            "a `polis doctor` b",
            "polis task list",
            "`polis task lists`",
        ] {
            assert_eq!(for_a_model(hint), hint);
        }
    }
}
