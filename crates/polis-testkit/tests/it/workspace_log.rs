//! Tests which file operations and commands are written to the log.

use std::sync::Arc;

use polis_core::workspace::command::{Ending, RunCommand};
use polis_core::workspace::file::{
    DeleteFile, EditFile, ListFiles, MakeDir, MoveFile, ReadFile, SearchFiles, WriteFile,
};
use polis_core::{Code, Details};
use polis_ops::op::{self, Desk, Follow};
use polis_testkit::run;
use polis_testkit::test_store::agent;

use crate::workspaces::{code, data, world};

#[test]
fn every_change_of_a_file_is_in_the_log_without_its_content() {
    run(async {
        let world = world();
        world.add("ada", None).await;
        let before = world.log().await.len();
        let ada = agent("ada");
        let (polis, desk) = (&world.polis, Desk::own(&ada));
        let path = || "src/main.rs".to_owned();
        let write = WriteFile {
            path: path(),
            content: "secret one".to_owned(),
            ..WriteFile::default()
        };
        assert!(op::write_file(polis, desk, &write).await.unwrap().logged);
        op::write_file(polis, desk, &write).await.unwrap();
        let edit = EditFile {
            path: path(),
            old_text: "one".to_owned(),
            new_text: "two".to_owned(),
            ..EditFile::default()
        };
        op::edit_file(polis, desk, &edit).await.unwrap();
        let to = MoveFile {
            from: path(),
            to: "b.rs".to_owned(),
            overwrite: false,
        };
        op::move_file(polis, desk, &to).await.unwrap();
        let gone = DeleteFile {
            path: "b.rs".to_owned(),
            recursive: false,
        };
        op::delete_file(polis, desk, &gone).await.unwrap();
        let made = MakeDir {
            path: "d/e".to_owned(),
        };
        op::make_dir(polis, desk, &made).await.unwrap();
        // Reads are not logged; an attempt to leave the workspace is.
        op::list_files(polis, desk, &ListFiles::default())
            .await
            .unwrap();
        op::search_files(polis, desk, &SearchFiles::default())
            .await
            .unwrap();
        let missing = ReadFile {
            path: path(),
            ..ReadFile::default()
        };
        assert_eq!(
            code(op::read_file(polis, desk, &missing).await),
            Code::FileNotFound
        );
        let out = ReadFile {
            path: "../x".to_owned(),
            ..ReadFile::default()
        };
        assert_eq!(
            code(op::read_file(polis, desk, &out).await),
            Code::PathTraversalBlocked
        );

        let log = world.log().await.split_off(before);
        let told: Vec<_> = log
            .iter()
            .map(|event| (event.kind.as_str(), data(event)))
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
            assert!(!event.data.text().contains("secret"));
        }
    });
}

#[test]
fn every_command_is_in_the_log() {
    run(async {
        let world = world();
        world.add("ada", None).await;
        world.add("bob", Some("ada")).await;
        let before = world.log().await.len();
        world.ground.end_with(vec![
            Ending::OutOfMemory,
            Ending::TimedOut,
            Ending::Killed("SIGTERM".to_owned()),
            Ending::Exited(3),
        ]);
        let exited = world.run("bob", "make").await.unwrap();
        assert_eq!((exited.exit_code, exited.signal), (3, None));
        let killed = world.run("bob", "make").await.unwrap();
        assert_eq!(
            (killed.exit_code, killed.signal.as_deref()),
            (143, Some("SIGTERM"))
        );
        let timed_out = world.run("bob", "make").await.unwrap_err();
        assert_eq!(timed_out.code(), Code::CommandTimeout);
        let details = timed_out.document().error.details.cloned();
        assert!(matches!(
            details,
            Some(Details::TimedOut { timed_out: true, timeout_ms: 60_000, ref stdout, .. }) if stdout == "ran make\n"
        ));
        let hungry = world.run("bob", "make").await.unwrap();
        assert_eq!(
            (
                hungry.exit_code,
                hungry.signal.as_deref(),
                hungry.out_of_memory
            ),
            (137, Some("SIGKILL"), true)
        );
        assert_eq!(
            code(world.run("bob", "sudo reboot").await),
            Code::CommandBlocked
        );
        // Malformed commands are not logged.
        assert_eq!(code(world.run("bob", " ").await), Code::InvalidCommand);

        let log = world.log().await.split_off(before);
        let kinds: Vec<_> = log.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(
            kinds,
            [["command.run"; 4].as_slice(), &["command.refused"]].concat()
        );
        let first = data(&log[0]);
        assert_eq!(
            first,
            serde_json::json!({
                "id": first["id"], "command": "make", "agent": "bob", "workspace": "ada",
                "startedAt": first["startedAt"], "durationMs": 3, "exitCode": 3,
                "stdoutBytes": 9, "stderrBytes": 0, "sandbox": "T0",
            })
        );
        assert_eq!(data(&log[1])["signal"], "SIGTERM");
        assert_eq!(data(&log[2])["timedOut"], true);
        assert_eq!(data(&log[3])["outOfMemory"], true);
        assert_eq!(data(&log[4])["code"], "command_blocked");
    });
}

#[test]
fn the_text_of_a_command_is_logged_up_to_a_length() {
    run(async {
        let world = world();
        world.add("ada", None).await;
        let long = format!("echo {}", "长".repeat(2_000));
        world.run("ada", &long).await.unwrap();
        let told = data(&world.log().await.pop().unwrap());
        let kept = told["command"].as_str().unwrap();
        assert!(long.starts_with(kept) && (4_000..=4_096).contains(&kept.len()));
        assert_eq!(told["commandCut"], true);
    });
}

#[test]
fn a_command_that_nobody_waits_for_is_ended_and_logged() {
    /// A terminal whose commands never end.
    #[derive(Debug)]
    struct Endless;
    impl polis_ops::port::Terminal for Endless {
        fn run<'a>(
            &'a self,
            _: &'a polis_ops::port::Site,
            _: polis_ops::port::CommandOrder,
        ) -> polis_ops::PortFuture<'a, polis_core::workspace::command::CommandRun> {
            Box::pin(std::future::pending())
        }
        fn report(&self) -> polis_ops::PortFuture<'_, polis_ops::port::SandboxReport> {
            Box::pin(std::future::pending())
        }
    }
    run(async {
        let mut world = world();
        world.polis.terminal = Arc::new(Endless);
        world.add("ada", None).await;
        let follow = Follow {
            watcher: None,
            stop: Some(Box::pin(std::future::ready(()))),
        };
        let ask = RunCommand {
            command: "yes".to_owned(),
            timeout_ms: None,
        };
        let ada = agent("ada");
        let done = op::run_command(&world.polis, Desk::own(&ada), &ask, follow).await;
        assert_eq!(code(done), Code::CommandFailed);
        let told = data(&world.log().await.pop().unwrap());
        assert_eq!(
            (told["cancelled"].as_bool(), told.get("exitCode")),
            (Some(true), None)
        );
    });
}
