//! Who a command is, and what it has from polis: nothing that polis did not mean to give.

use std::process::Command;
use std::{env, fs};

use polis_core::workspace::command::Ending;

use super::stage::{self, SECRET, Way, at_every_strength, attacker, processes_with};

#[test]
fn a_command_is_nobody_with_power() {
    at_every_strength(|stage| {
        let said = stage.output("./attacker identity");
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
        // Less than 1 would leave a crash handler of the machine in the game.
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

/// What the kernel itself says of a command, seen from outside.
#[test]
fn the_kernel_says_the_same_from_outside() {
    at_every_strength(|stage| {
        let marker = format!("marker-{}", stage.place().display());
        let command = format!("echo ready; : {marker}; while :; do :; done");
        let cancel = polis_workspace::sandbox::Cancel::new().unwrap();
        let seen = std::sync::Mutex::new(None);
        let look = || {
            let found = processes_with(&marker);
            let status = found.iter().map(|pid| {
                let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}"));
                (read("status").unwrap(), read("uid_map").unwrap())
            });
            *seen.lock().unwrap() = Some(status.collect::<Vec<_>>());
            cancel.trigger();
        };
        let run = stage.run_in_a_way(
            &command,
            &Way {
                cancel: Some(&cancel),
                watch: Some(&|_, _| look()),
                ..Way::default()
            },
        );
        assert_eq!(run.ending, Ending::Cancelled);
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
            // Only who had the right to narrow the bounding set could; it is without effect anyway.
            if set == "CapBnd:" && !stage.has_spaces() && us != "0" {
                continue;
            }
            assert_eq!(field(set), ["0000000000000000"], "{set} {status}");
        }
        assert_eq!(field("NoNewPrivs:"), ["1"]);
        assert_eq!(field("Seccomp:"), ["2"]);
        for set in ["SigIgn:", "SigBlk:"] {
            // Two signals are the C library's own; it lets nobody set them.
            const ITS_OWN: u64 = 3 << 31;
            let signals = u64::from_str_radix(&field(set)[0], 16).unwrap();
            assert_eq!(signals & !ITS_OWN, 0, "{set} {status}");
        }
        if stage.has_spaces() {
            let map: Vec<&str> = map.split_whitespace().collect();
            assert_eq!(map.len(), 3, "one user alone: {map:?}");
            assert_ne!(map[1], "0");
            assert_ne!(map[0], "0");
        }
        assert!(processes_with(&marker).is_empty());
    });
}

#[test]
fn nothing_of_polis_is_inherited() {
    const BURDENED: &str = "POLIS_ESCAPE_BURDENED";
    const KEY: &str = "POLIS_ESCAPE_API_KEY";
    if env::var_os(BURDENED).is_none() {
        // Again, in a process whose parent was careless.
        let place = tempfile::tempdir().unwrap();
        let secret = place.path().join("secret");
        fs::write(&secret, SECRET).unwrap();
        let own = env::current_exe().unwrap();
        let output = Command::new(attacker())
            .args(["burdened".as_ref(), secret.as_os_str(), own.as_os_str()])
            .args(["--exact", "escape::identity::nothing_of_polis_is_inherited"])
            .env(BURDENED, "1")
            .env(KEY, SECRET)
            .env(stage::ATTACKER, attacker())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let complained = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}{complained}");
        assert!(said.contains("1 passed"), "{said}");
        return;
    }
    // We have what we are not to pass on.
    assert_eq!(env::var_os(KEY).unwrap(), SECRET);
    assert_eq!(fs::read_to_string("/proc/self/fd/41").unwrap(), SECRET);
    at_every_strength(|stage| {
        // `run` looks for the secret in what is said.
        let said = stage.output(
            "env; export -p; cat /proc/self/environ /proc/*/environ /proc/*/cmdline 2>/dev/null; \
             for fd in 3 4 5 6 7 8 9 10 11 12 20 40 41 42 43 44 100; do \
               cat /proc/self/fd/$fd /dev/fd/$fd 2>/dev/null; done; \
             ls -l /proc/self/fd/ 2>/dev/null; true",
        );
        let allowed = [
            "PATH", "HOME", "TMPDIR", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "TERM", "LANG",
            "LC_ALL", "LC_CTYPE", "TZ", "PLACE", "POLIS", "SHLVL", "_",
        ];
        let variables = stage.output("env");
        for line in variables.lines() {
            let name = line.split('=').next().unwrap();
            assert!(allowed.contains(&name), "{line}");
        }
        let said = said + &stage.output("./attacker identity");
        assert!(!said.contains("descriptor 3"), "{said}");
        assert!(!said.contains("descriptor 4"), "{said}");
        assert!(!said.contains("\nsignal"), "{said}");
        assert!(said.contains("umask 22\n"), "{said}");
        // SIGPIPE ends who writes for nobody.
        let run = stage.run("yes | head -1; seq 1 100000 | head -1");
        assert_eq!(run.stdout.text, "y\n1\n");
        assert_eq!(
            (run.stderr.text.as_str(), &run.ending),
            ("", &Ending::Exited(0))
        );
    });
}
