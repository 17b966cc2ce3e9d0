//! Event log of workspaces: which file operations and commands are logged, with which data.

use std::sync::Arc;

use polis_core::workspace::command::RunCommandParams;
use polis_core::workspace::command_outcome::CommandEnding;
use polis_core::workspace::file_tools::{
    DeleteFileParams, EditFileParams, ListFilesParams, MakeDirParams, MoveFileParams,
    ReadFileParams, SearchFilesParams, WriteFileParams,
};
use polis_core::{RefusalCode, RefusalDetails};
use polis_i18n::UiLanguage;
use polis_ops::op::{self, CommandObservers};
use polis_testkit::run_test;
use polis_testkit::store_factory::parse_agent_id;

use crate::workspace_assignment::{event_data, new_test_workspace, refusal_code};

#[test]
fn file_changes_are_logged_without_content() {
    run_test(async {
        let harness = new_test_workspace();
        harness.add_agent("ada", None).await;
        let before = harness.read_log().await.len();
        let ada = parse_agent_id("ada");
        let app = &harness.app;
        let path = || "src/main.rs".to_owned();
        let write = WriteFileParams {
            path: path(),
            content: "secret one".to_owned(),
            ..WriteFileParams::default()
        };
        let request = &app.request(&ada);
        let written = op::write_file(request, None, &write).await.unwrap();
        assert!(written.logged);
        op::write_file(request, None, &write).await.unwrap();
        let edit = EditFileParams {
            path: path(),
            old_text: "one".to_owned(),
            new_text: "two".to_owned(),
            ..EditFileParams::default()
        };
        op::edit_file(&app.request(&ada), None, &edit)
            .await
            .unwrap();
        let to = MoveFileParams {
            from: path(),
            to: "b.rs".to_owned(),
            overwrite: false,
        };
        op::move_file(&app.request(&ada), None, &to).await.unwrap();
        let gone = DeleteFileParams {
            path: "b.rs".to_owned(),
            recursive: false,
        };
        op::delete_file(&app.request(&ada), None, &gone)
            .await
            .unwrap();
        let made = MakeDirParams {
            path: "d/e".to_owned(),
        };
        op::make_dir(&app.request(&ada), None, &made).await.unwrap();
        // Reads are not logged; an attempt to leave the workspace is.
        op::list_files(&app.request(&ada), None, &ListFilesParams::default())
            .await
            .unwrap();
        op::search_files(&app.request(&ada), None, &SearchFilesParams::default())
            .await
            .unwrap();
        let missing = ReadFileParams {
            path: path(),
            ..ReadFileParams::default()
        };
        assert_eq!(
            refusal_code(op::read_file(&app.request(&ada), None, &missing).await),
            RefusalCode::FILE_NOT_FOUND
        );
        let out = ReadFileParams {
            path: "../x".to_owned(),
            ..ReadFileParams::default()
        };
        assert_eq!(
            refusal_code(op::read_file(&app.request(&ada), None, &out).await),
            RefusalCode::PATH_TRAVERSAL_BLOCKED
        );

        let log = harness.read_log().await.split_off(before);
        let told: Vec<_> = log
            .iter()
            .map(|event| (event.kind.as_str(), event_data(event)))
            .collect();
        let hash = |n: usize| told[n].1["hash"].clone();
        let json = |value: serde_json::Value| value;
        assert_eq!(
            told,
            [
                (
                    "file.written",
                    json(
                        serde_json::json!({"path": "src/main.rs", "bytes": 10, "hash": hash(0), "created": true})
                    )
                ),
                (
                    "file.written",
                    json(serde_json::json!({"path": "src/main.rs", "bytes": 10, "hash": hash(1)}))
                ),
                (
                    "file.edited",
                    json(
                        serde_json::json!({"path": "src/main.rs", "bytes": 10, "hash": hash(2), "replaced": 1})
                    )
                ),
                (
                    "file.moved",
                    json(serde_json::json!({"path": "src/main.rs", "to": "b.rs"}))
                ),
                ("file.deleted", json(serde_json::json!({"path": "b.rs"}))),
                (
                    "file.directory-made",
                    json(serde_json::json!({"path": "d/e"}))
                ),
                (
                    "file.refused",
                    json(
                        serde_json::json!({"op": "read_file", "path": "../x", "code": "path_traversal_blocked"})
                    )
                ),
            ]
        );
        assert_eq!((hash(0), hash(1).is_string()), (hash(1), true));
        for event in &log {
            assert_eq!(
                (event.actor.as_str(), event.subject.as_str()),
                ("ada", "workspace/ada")
            );
            assert!(!event.data.as_str().contains("secret"));
        }
    });
}

#[test]
fn commands_are_logged() {
    run_test(async {
        let harness = new_test_workspace();
        harness.add_agent("ada", None).await;
        harness.add_agent("bob", Some("ada")).await;
        let before = harness.read_log().await.len();
        harness.files.set_command_endings(vec![
            CommandEnding::OutOfMemory,
            CommandEnding::TimedOut,
            CommandEnding::Killed(15),
            CommandEnding::Exited(3),
        ]);
        let exited = harness.run_command("bob", "make").await.unwrap();
        assert_eq!((exited.exit_code, exited.signal), (3, None));
        let killed = harness.run_command("bob", "make").await.unwrap();
        assert_eq!(
            (killed.exit_code, killed.signal.as_deref()),
            (143, Some("SIGTERM"))
        );
        let timed_out = harness.run_command("bob", "make").await.unwrap_err();
        assert_eq!(timed_out.code(), RefusalCode::COMMAND_TIMEOUT);
        let details = timed_out.details().cloned();
        assert!(matches!(
            details,
            Some(RefusalDetails::TimedOut { timed_out: true, timeout_ms: 60_000, ref stdout, .. }) if stdout == "ran make\n"
        ));
        let hungry = harness.run_command("bob", "make").await.unwrap();
        assert_eq!(
            (
                hungry.exit_code,
                hungry.signal.as_deref(),
                hungry.out_of_memory
            ),
            (137, Some("SIGKILL"), true)
        );
        assert_eq!(
            refusal_code(harness.run_command("bob", "sudo reboot").await),
            RefusalCode::COMMAND_BLOCKED
        );
        // Malformed commands are not logged.
        assert_eq!(
            refusal_code(harness.run_command("bob", " ").await),
            RefusalCode::INVALID_COMMAND
        );

        let log = harness.read_log().await.split_off(before);
        let kinds: Vec<_> = log.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(
            kinds,
            [["command.run"; 4].as_slice(), &["command.refused"]].concat()
        );
        let first = event_data(&log[0]);
        assert_eq!(
            first,
            serde_json::json!({
                "id": first["id"], "command": "make", "agent": "bob", "workspace": "ada",
                "startedAt": first["startedAt"], "durationMs": 3, "exitCode": 3,
                "stdoutBytes": 9, "stderrBytes": 0, "sandbox": "T0",
            })
        );
        assert_eq!(event_data(&log[1])["signal"], "SIGTERM");
        assert_eq!(event_data(&log[2])["timedOut"], true);
        assert_eq!(event_data(&log[3])["outOfMemory"], true);
        assert_eq!(event_data(&log[4])["code"], "command_blocked");
    });
}

#[test]
fn long_command_text_is_truncated_in_log() {
    run_test(async {
        let harness = new_test_workspace();
        harness.add_agent("ada", None).await;
        let long = format!("echo {}", "长".repeat(2_000));
        harness.run_command("ada", &long).await.unwrap();
        let told = event_data(&harness.read_log().await.pop().unwrap());
        let kept = told["command"].as_str().unwrap();
        assert!(long.starts_with(kept) && (4_000..=4_096).contains(&kept.len()));
        assert_eq!(told["commandCut"], true);
    });
}

#[test]
fn cancelled_command_is_ended_and_logged() {
    /// A terminal whose commands never end.
    #[derive(Debug)]
    struct EndlessTerminal;
    impl polis_ops::port::SandboxedTerminal for EndlessTerminal {
        fn run<'a>(
            &'a self,
            _: &'a polis_ops::port::WorkspaceLocation,
            _: polis_core::workspace::command::CommandRequest,
            _: Arc<dyn polis_ops::port::OutputWatcher>,
        ) -> polis_ops::PortFuture<'a, polis_core::workspace::command_outcome::CommandOutcome>
        {
            Box::pin(std::future::pending())
        }
        fn report(&self) -> polis_ops::PortFuture<'_, polis_ops::port::SandboxReport> {
            Box::pin(std::future::pending())
        }
    }
    run_test(async {
        let mut harness = new_test_workspace();
        harness.app.terminal = Arc::new(EndlessTerminal);
        harness.add_agent("ada", None).await;
        let follow = CommandObservers {
            watcher: None,
            cancel: Some(Box::pin(std::future::ready(()))),
        };
        let ask = RunCommandParams {
            command: "yes".to_owned(),
            timeout_ms: None,
        };
        let ada = parse_agent_id("ada");
        let done = op::run_command(
            &harness.app.request(&ada),
            None,
            &ask,
            follow,
            UiLanguage::En,
        )
        .await;
        assert_eq!(refusal_code(done), RefusalCode::COMMAND_FAILED);
        let told = event_data(&harness.read_log().await.pop().unwrap());
        assert_eq!(
            (told["cancelled"].as_bool(), told.get("exitCode")),
            (Some(true), None)
        );
    });
}
