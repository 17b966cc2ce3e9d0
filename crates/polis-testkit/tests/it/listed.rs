//! Checks that every suite function is listed in its macro; an unlisted one would never run.

const SUITES: &str = include_str!("../../src/suites.rs");

#[test]
fn every_function_of_a_suite_is_named_by_its_macro() {
    let sources = [
        include_str!("../../src/task_cases.rs"),
        include_str!("../../src/conformance/against_model.rs"),
        include_str!("../../src/conformance/agents.rs"),
        include_str!("../../src/conformance/blockers.rs"),
        include_str!("../../src/conformance/board_changes.rs"),
        include_str!("../../src/conformance/board_history.rs"),
        include_str!("../../src/conformance/board_leases.rs"),
        include_str!("../../src/conformance/boards.rs"),
        include_str!("../../src/conformance/commits.rs"),
        include_str!("../../src/conformance/lists.rs"),
        include_str!("../../src/conformance/log.rs"),
        include_str!("../../src/conformance/messages.rs"),
        include_str!("../../src/conformance/numbers.rs"),
        include_str!("../../src/conformance/plain_records.rs"),
        include_str!("../../src/conformance/records.rs"),
        include_str!("../../src/conformance/streams.rs"),
        include_str!("../../src/conformance/turns.rs"),
        include_str!("../../src/conformance/waiting.rs"),
        include_str!("../../src/messaging.rs"),
        include_str!("../../src/linear/record.rs"),
    ];
    for source in sources {
        for rest in source.split("\npub async fn ").skip(1) {
            let name = rest.split('(').next().unwrap();
            assert!(
                SUITES.lines().any(|line| line.trim() == name),
                "{name} is in no macro"
            );
        }
    }
}
