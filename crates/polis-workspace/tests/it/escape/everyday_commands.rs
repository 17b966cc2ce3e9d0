//! Tests that ordinary commands work in the sandbox: shells, compilers, git, pipes, signals and long output,
//! as builds and scripts use them.

use std::fs;

use polis_core::workspace::command_outcome::CommandEnding;

use super::test_sandbox::{MIB, RunOptions, run_in_every_tier};

/// A command that must succeed with this output. It is skipped, visibly, if a program in `needs` is missing.
struct EverydayCommand {
    name: &'static str,
    required_programs: &'static [&'static str],
    script: &'static str,
    expected_output: &'static str,
}

const fn everyday_command(
    name: &'static str,
    needs: &'static [&'static str],
    script: &'static str,
    says: &'static str,
) -> EverydayCommand {
    EverydayCommand {
        name,
        required_programs: needs,
        script,
        expected_output: says,
    }
}

const EVERYDAY_COMMANDS: &[EverydayCommand] = &[
    everyday_command(
        "pipes",
        &[],
        "echo b a c | tr ' ' '\\n' | sort | head -2 | tail -1",
        "b\n",
    ),
    everyday_command(
        "a here document",
        &[],
        "cat <<'X'\n$HOME `x`\nX\n",
        "$HOME `x`\n",
    ),
    everyday_command("substitution", &[], "echo $(echo $(echo deep))", "deep\n"),
    everyday_command(
        "jobs",
        &[],
        "sleep 0.01 & sleep 0.01 & wait; echo $?",
        "0\n",
    ),
    everyday_command(
        "temporary files",
        &[],
        "f=$(mktemp) && echo x > $f && cat $f && d=$(mktemp -d) && rmdir $d",
        "x\n",
    ),
    everyday_command(
        "null, zero and random devices",
        &[],
        "echo x > /dev/null 2>&1 && head -c 3 /dev/zero | wc -c && head -c 4 /dev/urandom | wc -c",
        "3\n4\n",
    ),
    everyday_command(
        "a full disk",
        &[],
        "echo x > /dev/full || echo full",
        "full\n",
    ),
    everyday_command(
        "its own descriptors",
        &["bash"],
        "bash -c 'cat <(echo one) <(echo two); echo x > /dev/stderr'",
        "one\ntwo\n",
    ),
    everyday_command(
        "output by name",
        &["bash"],
        "echo x | tee /dev/stderr | cat /dev/stdin; echo y > /dev/stdout",
        "x\ny\n",
    ),
    everyday_command("no input", &[], "cat; read x; echo $?", "1\n"),
    everyday_command(
        "unicode",
        &[],
        "mkdir -p 'häuser/東京 👍' && echo ü > 'häuser/東京 👍/ñ' && cat häuser/*/*",
        "ü\n",
    ),
    everyday_command(
        "modes",
        &[],
        "echo 'echo ran' > s && chmod +x s && ./s && chmod 600 s && stat -c %a s",
        "ran\n600\n",
    ),
    everyday_command(
        "times",
        &[],
        "touch -d 2020-01-01T00:00:00Z t && stat -c %Y t",
        "1577836800\n",
    ),
    everyday_command(
        "links",
        &[],
        "echo x > l1 && ln l1 l2 && ln -s l1 l3 && cat l2 l3 && mv l1 l4 && rm l2 l3 l4",
        "x\nx\n",
    ),
    everyday_command(
        "directories",
        &[],
        "mkdir -p d/e/f && touch d/e/f/g && mv d/e d/h && find d -type f && rm -r d",
        "d/h/f/g\n",
    ),
    everyday_command(
        "absolute paths",
        &[],
        "echo x > \"$PWD\"/abs && cd / && cat \"$OLDPWD\"/abs && cd \"$OLDPWD\" && rm abs && ls /usr/bin/env",
        "x\n/usr/bin/env\n",
    ),
    everyday_command(
        "user and home directory",
        &[],
        "test $(id -u) -ne 0 && test -n \"$USER\" && test -w \"$HOME\" && cd && pwd > where && test -s where && echo well",
        "well\n",
    ),
    everyday_command("locks", &["flock"], "flock lock echo locked", "locked\n"),
    everyday_command(
        "named pipes",
        &[],
        "mkfifo p && (echo through > p &) && cat p && rm p",
        "through\n",
    ),
    everyday_command(
        "large sorts",
        &[],
        "seq 200000 -1 1 | sort -n -S 1M | sed -n '1p;$p'",
        "1\n200000\n",
    ),
    everyday_command(
        "archives",
        &["tar", "gzip"],
        "mkdir ar && echo x > ar/f && tar czf a.tgz ar && rm -r ar && tar xzf a.tgz && cat ar/f",
        "x\n",
    ),
    everyday_command(
        "a search",
        &[],
        "mkdir -p s1/s2 && echo needle > s1/s2/f && grep -rl needle s1",
        "s1/s2/f\n",
    ),
    everyday_command(
        "arithmetic",
        &["awk"],
        "seq 100 | awk '{s += $1} END {print s}'",
        "5050\n",
    ),
    everyday_command(
        "limits on itself",
        &[],
        "ulimit -n 64; ulimit -c; ulimit -n",
        "0\n64\n",
    ),
    everyday_command("a niceness", &[], "nice -n 5 echo nice", "nice\n"),
    everyday_command(
        "a timeout",
        &["timeout"],
        "timeout 0.05 sleep 600; echo $?",
        "124\n",
    ),
    everyday_command(
        "its own signals",
        &[],
        "trap 'echo caught; exit 0' USR1; kill -USR1 $$; sleep 1",
        "caught\n",
    ),
    everyday_command(
        "its children's signals",
        &[],
        "sleep 600 & kill -9 $!; wait $!; echo $?",
        "137\n",
    ),
    everyday_command(
        "a session",
        &["setsid"],
        "setsid -w echo session",
        "session\n",
    ),
    everyday_command(
        "parallel work",
        &["xargs"],
        "seq 8 | xargs -P 4 -n 1 sh -c 'echo $0' | sort -n | tr -d '\\n'",
        "12345678",
    ),
    everyday_command("the time", &["date"], "date -u -d @0 +%Y", "1970\n"),
    everyday_command(
        "processors",
        &["nproc"],
        "test $(nproc) -ge 1 && echo some",
        "some\n",
    ),
    everyday_command(
        "machine information",
        &["uname"],
        "uname -s && test -r /proc/meminfo && test -r /proc/cpuinfo && echo read",
        "Linux\nread\n",
    ),
    everyday_command(
        "user names",
        &["getent"],
        "getent passwd root >/dev/null && test -r /etc/os-release && echo known",
        "known\n",
    ),
    everyday_command(
        "the compiler",
        &["cc"],
        "printf '#include <stdio.h>\\nint main(void){puts(\"built\");return 0;}\\n' > p.c && cc -O2 -o p p.c && ./p",
        "built\n",
    ),
    everyday_command(
        "a build",
        &["cc", "make"],
        "printf 'all: a b c d\\n\\ta=1; ./a && ./d\\na b c d: x.c\\n\\tcc -DN=\\\\\"$@\\\\\" -o $@ x.c\\n' > Makefile && printf '#include <stdio.h>\\nint main(void){puts(N);return 0;}\\n' > x.c && make -s -j4",
        "a\nd\n",
    ),
    everyday_command(
        "git",
        &["git"],
        "git init -q r && cd r && git config user.email a@b && git config user.name n && echo x > f && git add . && git commit -qm one && git log --format=%s && git status --short && git branch x && git checkout -q x && git gc -q && git clone -q . ../r2 && git -C ../r2 log --oneline | wc -l",
        "one\n1\n",
    ),
    everyday_command(
        "python",
        &["python3"],
        "python3 -c 'import os, subprocess, tempfile, threading, hashlib; t=threading.Thread(target=print, args=(\"thread\",)); t.start(); t.join(); print(subprocess.check_output([\"echo\", \"sub\"]).decode(), end=\"\"); tempfile.NamedTemporaryFile().write(b\"x\"); p=os.fork(); os._exit(0) if p==0 else os.waitpid(p, 0); print(os.getcwd() == os.environ[\"PWD\"])'",
        "thread\nsub\nTrue\n",
    ),
    everyday_command(
        "perl",
        &["perl"],
        "perl -e 'use POSIX; my $p = fork; exit 3 unless $p; waitpid $p, 0; print $? >> 8, qq(\\n)'",
        "3\n",
    ),
    everyday_command(
        "long variables",
        &[],
        "x=$(seq 1 20000); echo \"$x\" | tail -1; echo $x | wc -w",
        "20000\n20000\n",
    ),
];

#[test]
fn everyday_commands_succeed() {
    run_in_every_tier(|stage| {
        let mut done = true;
        for EverydayCommand {
            name,
            required_programs: needs,
            script,
            expected_output: says,
        } in EVERYDAY_COMMANDS
        {
            let there = needs
                .iter()
                .map(|program| format!("command -v {program} && "));
            let there = there.collect::<String>() + "true";
            if stage.run(&there).ending != CommandEnding::Exited(0) {
                eprintln!("skipped: {name}: one of {needs:?} is not here");
                continue;
            }
            let run = stage.run(script);
            if run.ending != CommandEnding::Exited(0) || run.stdout.text != *says {
                done = false;
                let tier = stage.tier().as_str();
                eprintln!(
                    "{tier}: {name}: {:?}\n{}\n{}",
                    run.ending, run.stdout.text, run.stderr.text
                );
            }
        }
        assert!(done, "see above");
    });
}

#[test]
fn exit_codes_and_signals_are_reported() {
    run_in_every_tier(|stage| {
        for code in [0, 1, 2, 42, 126, 127, 128, 255] {
            assert_eq!(
                stage.run(&format!("exit {code}")).ending,
                CommandEnding::Exited(code)
            );
        }
        for signal in [
            "SEGV", "KILL", "TERM", "ABRT", "INT", "HUP", "PIPE", "USR1", "ALRM", "XCPU",
        ] {
            let run = stage.run(&format!("kill -{signal} $$"));
            assert_eq!(run.ending.signal_name(), Some(format!("SIG{signal}")));
            assert!(matches!(run.ending, CommandEnding::Killed(_)));
        }
        assert_eq!(stage.run("/nowhere").ending, CommandEnding::Exited(127));
        assert_eq!(stage.run("./victim").ending, CommandEnding::Exited(126));
        assert_eq!(stage.run("if").ending, CommandEnding::Exited(2));
    });
}

#[test]
fn cpu_time_is_limited() {
    run_in_every_tier(|stage| {
        let run = stage.run("ulimit -t");
        assert_eq!(
            run.stdout.text.trim(),
            stage.policy.limits.cpu_seconds.to_string()
        );
    });
}

#[test]
fn long_output_is_spooled_and_readable() {
    run_in_every_tier(|stage| {
        let kept = tempfile::tempdir().unwrap();
        let open: fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(kept.path(), open).unwrap();
        let way = RunOptions {
            output_directory: Some(kept.path()),
            ..RunOptions::default()
        };
        let run = stage.run_with_options("seq 1 400000; echo last words >&2", &way);
        assert_eq!(run.ending, CommandEnding::Exited(0));
        assert!(
            run.stdout.omitted > 0 && run.stdout.text.len() < 2 << 20,
            "{}",
            run.stdout.omitted
        );
        assert_eq!(run.stdout.bytes, 2_688_895);
        assert_eq!(run.stderr.text, "last words\n");
        let (head, tail) = run.stdout.text.split_at(run.stdout.omitted_at);
        assert!(head.starts_with("1\n2\n") && tail.ends_with("\n400000\n"));
        assert_eq!(run.spool_limit, None, "the file is complete");
        let name = run.spool.unwrap();
        let script = format!(
            "sed -n 200000p \"$POLIS_OUTPUT\"/{name}; ls \"$POLIS_OUTPUT\" | wc -l; \
             echo owned > \"$POLIS_OUTPUT\"/{name} || rm -f \"$POLIS_OUTPUT\"/{name} || echo closed"
        );
        let later = stage.run_with_options(&script, &way);
        assert_eq!(later.stdout.text, "200000\n1\nclosed\n", "{later:?}");
        let length = fs::metadata(kept.path().join(&name)).unwrap().len();
        assert_eq!(length, 2_688_895 + 11);
    });
}

#[test]
fn long_commands_and_environments_are_passed() {
    run_in_every_tier(|stage| {
        let word = "x".repeat(90_000);
        assert_eq!(
            stage
                .successful_output(&format!("printf %s {word} | wc -c"))
                .trim(),
            "90000"
        );
    });
    for strength in super::test_sandbox::available_sandboxes() {
        let mut stage = super::test_sandbox::TestSandbox::new(strength);
        for number in 0..200 {
            let value = format!("{number} {}", "ü".repeat(500));
            stage.policy.env.insert(format!("LARGE_{number}"), value);
        }
        assert_eq!(stage.successful_output("env | grep -c ^LARGE_"), "200\n");
        assert_eq!(stage.successful_output("echo ${LARGE_199%% *}"), "199\n");
    }
}

/// A default workspace is in a directory that only polis's user may enter.
#[test]
fn workspace_in_a_private_directory_works() {
    run_in_every_tier(|stage| {
        let closed: fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(stage.base_path(), closed).unwrap();
        assert_eq!(
            stage.successful_output("echo x > f && cat f && mkdir -p a/b && cd a/b && cat ../../f"),
            "x\nx\n"
        );
        assert_eq!(
            stage.successful_output("cat \"$PWD\"/f && cd a && cd \"$PWD\" && cat ../f"),
            "x\nx\n"
        );
        let run =
            stage.run("command -v git >/dev/null || exit 77; git init -q r && cd r && git add .");
        if run.ending == CommandEnding::Exited(77) {
            eprintln!("skipped: no git inside");
        } else {
            assert_eq!(run.ending, CommandEnding::Exited(0), "{run:?}");
        }
    });
}

#[test]
fn concurrent_commands_have_separate_tmp() {
    run_in_every_tier(|stage| {
        std::thread::scope(|scope| {
            let runs: Vec<_> = (0..8)
                .map(|number| {
                    scope.spawn(move || {
                        let script = format!(
                            "echo {number} > \"$TMPDIR\"/mine; sleep 0.02; cat \"$TMPDIR\"/mine; \
                             ls \"$TMPDIR\" | grep -c mine"
                        );
                        assert_eq!(stage.successful_output(&script), format!("{number}\n1\n"));
                    })
                })
                .collect();
            for run in runs {
                run.join().unwrap();
            }
        });
    });
}

#[test]
fn watcher_receives_all_output() {
    run_in_every_tier(|stage| {
        let seen = std::sync::Mutex::new(Vec::new());
        let run = stage.run_with_options(
            "echo one; echo two >&2; head -c 3000000 /dev/zero",
            &RunOptions {
                watcher: Some(&|_, bytes: &[u8]| seen.lock().unwrap().push(bytes.len())),
                ..RunOptions::default()
            },
        );
        let total: usize = seen.into_inner().unwrap().into_iter().sum();
        assert_eq!(total, 3_000_008);
        assert_eq!(run.stdout.bytes + run.stderr.bytes, 3_000_008);
        assert!(u64::try_from(run.stdout.text.len()).unwrap() < 2 * MIB);
    });
}
