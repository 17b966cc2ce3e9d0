//! Tests of the identity of a command and of what it inherits from polis: user, capabilities, signals, file
//! descriptors and environment.

use std::process::Command;
use std::{env, fs};

use polis_core::workspace::command_outcome::CommandEnding;

use super::test_sandbox::{
    self, RunOptions, SECRET, attacker_program, processes_matching, run_in_every_tier,
};

#[test]
fn command_runs_without_privileges() {
    run_in_every_tier(|stage| {
        let said = stage.successful_output("./attacker identity");
        let line = |name: &str| {
            let found = said.lines().find_map(|line| line.strip_prefix(name));
            found
                .unwrap_or_else(|| panic!("{name}: {said}"))
                .trim()
                .to_owned()
        };
        for ids in [line("uids"), line("gids")] {
            assert!(ids.split(' ').all(|id| id != "0"), "{said}");
        }
        assert_eq!(line("capabilities"), "0 0 0 0 0 0");
        assert_eq!(line("no_new_privs"), "1");
        assert_eq!(line("seccomp"), "2");
        // A limit below 1 would let the machine's crash handler run.
        assert_eq!(line("core"), "1 1");
        assert_eq!(line("umask"), "22");
        assert_eq!(line("terminal"), "0");
        let descriptors: Vec<&str> = said
            .lines()
            .filter(|l| l.starts_with("descriptor"))
            .collect();
        assert_eq!(
            descriptors,
            ["descriptor 0", "descriptor 1", "descriptor 2"]
        );
        assert!(!said.contains("\nsignal"), "{said}");
    });
}

/// Status of a command as the kernel reports it, seen from outside.
#[test]
fn proc_status_of_command_shows_no_privileges() {
    run_in_every_tier(|stage| {
        let marker = format!("marker-{}", stage.base_path().display());
        let command = format!("echo ready; : {marker}; while :; do :; done");
        let cancel = polis_workspace::sandbox::CancelHandle::new().unwrap();
        let seen = std::sync::Mutex::new(None);
        let look = || {
            let found = processes_matching(&marker);
            let status = found.iter().map(|pid| {
                let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}"));
                (read("status").unwrap(), read("uid_map").unwrap())
            });
            *seen.lock().unwrap() = Some(status.collect::<Vec<_>>());
            cancel.cancel();
        };
        let run = stage.run_with_options(
            &command,
            &RunOptions {
                cancel: Some(&cancel),
                watcher: Some(&|_, _| look()),
                ..RunOptions::default()
            },
        );
        assert_eq!(run.ending, CommandEnding::Cancelled);
        let seen = seen.into_inner().unwrap().unwrap();
        assert_eq!(seen.len(), 1, "{seen:?}");
        let (status, map) = &seen[0];
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap()
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let us = rustix::process::geteuid().as_raw().to_string();
        for ids in [field("Uid:"), field("Gid:")] {
            assert!(!ids.contains(&"0".to_owned()), "{status}");
            assert!(us == "0" || ids.contains(&us), "{status}");
        }
        if us == "0" {
            assert_eq!(field("Groups:"), Vec::<String>::new());
        }
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
            // Only a process with the right to reduce the bounding set can do so; without it the set has no
            // effect.
            if set == "CapBnd:" && !stage.has_namespaces() && us != "0" {
                continue;
            }
            assert_eq!(field(set), ["0000000000000000"], "{set} {status}");
        }
        assert_eq!(field("NoNewPrivs:"), ["1"]);
        assert_eq!(field("Seccomp:"), ["2"]);
        for set in ["SigIgn:", "SigBlk:"] {
            // The C library reserves two signals and does not let programs set them.
            const LIBC_SIGNALS: u64 = 3 << 31;
            let signals = u64::from_str_radix(&field(set)[0], 16).unwrap();
            assert_eq!(signals & !LIBC_SIGNALS, 0, "{set} {status}");
        }
        if stage.has_namespaces() {
            let map: Vec<&str> = map.split_whitespace().collect();
            assert_eq!(map.len(), 3, "one user alone: {map:?}");
            assert_ne!(map[1], "0");
            assert_ne!(map[0], "0");
        }
        assert!(processes_matching(&marker).is_empty());
    });
}

#[test]
fn command_inherits_nothing_from_polis() {
    const BURDENED_VAR: &str = "POLIS_ESCAPE_BURDENED";
    const API_KEY_VAR: &str = "POLIS_ESCAPE_API_KEY";
    if env::var_os(BURDENED_VAR).is_none() {
        // Runs the test again in a process with a careless parent.
        let place = tempfile::tempdir().unwrap();
        let secret = place.path().join("secret");
        fs::write(&secret, SECRET).unwrap();
        let own = env::current_exe().unwrap();
        let output = Command::new(attacker_program())
            .args(["burdened".as_ref(), secret.as_os_str(), own.as_os_str()])
            .args([
                "--exact",
                "escape::identity::command_inherits_nothing_from_polis",
            ])
            .env(BURDENED_VAR, "1")
            .env(API_KEY_VAR, SECRET)
            .env(test_sandbox::ATTACKER_VAR, attacker_program())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let complained = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}{complained}");
        assert!(said.contains("1 passed"), "{said}");
        return;
    }
    // This process has what it must not pass on.
    assert_eq!(env::var_os(API_KEY_VAR).unwrap(), SECRET);
    assert_eq!(fs::read_to_string("/proc/self/fd/41").unwrap(), SECRET);
    run_in_every_tier(|stage| {
        // `run` searches the output for the secret.
        let said = stage.successful_output(
            "env; export -p; cat /proc/self/environ /proc/*/environ /proc/*/cmdline 2>/dev/null; \
             for fd in 3 4 5 6 7 8 9 10 11 12 20 40 41 42 43 44 100; do \
               cat /proc/self/fd/$fd /dev/fd/$fd 2>/dev/null; done; \
             ls -l /proc/self/fd/ 2>/dev/null; true",
        );
        let allowed = [
            "PATH", "HOME", "TMPDIR", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "TERM", "LANG",
            "LC_ALL", "LC_CTYPE", "TZ", "PLACE", "POLIS", "SHLVL", "_",
        ];
        let variables = stage.successful_output("env");
        for line in variables.lines() {
            let name = line.split('=').next().unwrap();
            assert!(allowed.contains(&name), "{line}");
        }
        let said = said + &stage.successful_output("./attacker identity");
        assert!(!said.contains("descriptor 3"), "{said}");
        assert!(!said.contains("descriptor 4"), "{said}");
        assert!(!said.contains("\nsignal"), "{said}");
        assert!(said.contains("umask 22\n"), "{said}");
        // SIGPIPE kills a process that writes without a reader.
        let run = stage.run("yes | head -1; seq 1 100000 | head -1");
        assert_eq!(run.stdout.text, "y\n1\n");
        assert_eq!(
            (run.stderr.text.as_str(), &run.ending),
            ("", &CommandEnding::Exited(0))
        );
    });
}
