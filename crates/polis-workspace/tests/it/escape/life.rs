//! Ordinary life goes on inside: what builds, tests and scripts do every day.

use std::fs;

use polis_core::workspace::command::Ending;

use super::stage::{MIB, Way, at_every_strength};

/// What has to succeed with this output. `needs` are programs without which it is skipped, visibly.
struct Chore {
    name: &'static str,
    needs: &'static [&'static str],
    script: &'static str,
    says: &'static str,
}

const fn chore(
    name: &'static str,
    needs: &'static [&'static str],
    script: &'static str,
    says: &'static str,
) -> Chore {
    Chore {
        name,
        needs,
        script,
        says,
    }
}

const CHORES: &[Chore] = &[
    chore(
        "pipes",
        &[],
        "echo b a c | tr ' ' '\\n' | sort | head -2 | tail -1",
        "b\n",
    ),
    chore(
        "a here document",
        &[],
        "cat <<'X'\n$HOME `x`\nX\n",
        "$HOME `x`\n",
    ),
    chore("substitution", &[], "echo $(echo $(echo deep))", "deep\n"),
    chore(
        "jobs",
        &[],
        "sleep 0.01 & sleep 0.01 & wait; echo $?",
        "0\n",
    ),
    chore(
        "temporary files",
        &[],
        "f=$(mktemp) && echo x > $f && cat $f && d=$(mktemp -d) && rmdir $d",
        "x\n",
    ),
    chore(
        "nothing",
        &[],
        "echo x > /dev/null 2>&1 && head -c 3 /dev/zero | wc -c && head -c 4 /dev/urandom | wc -c",
        "3\n4\n",
    ),
    chore(
        "a full disk",
        &[],
        "echo x > /dev/full || echo full",
        "full\n",
    ),
    chore(
        "its own descriptors",
        &["bash"],
        "bash -c 'cat <(echo one) <(echo two); echo x > /dev/stderr'",
        "one\ntwo\n",
    ),
    chore(
        "output by name",
        &["bash"],
        "echo x | tee /dev/stderr | cat /dev/stdin; echo y > /dev/stdout",
        "x\ny\n",
    ),
    chore("no input", &[], "cat; read x; echo $?", "1\n"),
    chore(
        "unicode",
        &[],
        "mkdir -p 'häuser/東京 👍' && echo ü > 'häuser/東京 👍/ñ' && cat häuser/*/*",
        "ü\n",
    ),
    chore(
        "modes",
        &[],
        "echo 'echo ran' > s && chmod +x s && ./s && chmod 600 s && stat -c %a s",
        "ran\n600\n",
    ),
    chore(
        "times",
        &[],
        "touch -d 2020-01-01T00:00:00Z t && stat -c %Y t",
        "1577836800\n",
    ),
    chore(
        "links",
        &[],
        "echo x > l1 && ln l1 l2 && ln -s l1 l3 && cat l2 l3 && mv l1 l4 && rm l2 l3 l4",
        "x\nx\n",
    ),
    chore(
        "directories",
        &[],
        "mkdir -p d/e/f && touch d/e/f/g && mv d/e d/h && find d -type f && rm -r d",
        "d/h/f/g\n",
    ),
    chore(
        "absolute paths",
        &[],
        "echo x > \"$PWD\"/abs && cd / && cat \"$OLDPWD\"/abs && cd \"$OLDPWD\" && rm abs && ls /usr/bin/env",
        "x\n/usr/bin/env\n",
    ),
    chore(
        "who am I",
        &[],
        "test $(id -u) -ne 0 && test -n \"$USER\" && test -w \"$HOME\" && cd && pwd > where && test -s where && echo well",
        "well\n",
    ),
    chore("locks", &["flock"], "flock lock echo locked", "locked\n"),
    chore(
        "named pipes",
        &[],
        "mkfifo p && (echo through > p &) && cat p && rm p",
        "through\n",
    ),
    chore(
        "large sorts",
        &[],
        "seq 200000 -1 1 | sort -n -S 1M | sed -n '1p;$p'",
        "1\n200000\n",
    ),
    chore(
        "archives",
        &["tar", "gzip"],
        "mkdir ar && echo x > ar/f && tar czf a.tgz ar && rm -r ar && tar xzf a.tgz && cat ar/f",
        "x\n",
    ),
    chore(
        "a search",
        &[],
        "mkdir -p s1/s2 && echo needle > s1/s2/f && grep -rl needle s1",
        "s1/s2/f\n",
    ),
    chore(
        "arithmetic",
        &["awk"],
        "seq 100 | awk '{s += $1} END {print s}'",
        "5050\n",
    ),
    chore(
        "limits on itself",
        &[],
        "ulimit -n 64; ulimit -c; ulimit -n",
        "0\n64\n",
    ),
    chore("a niceness", &[], "nice -n 5 echo nice", "nice\n"),
    chore(
        "a timeout",
        &["timeout"],
        "timeout 0.05 sleep 600; echo $?",
        "124\n",
    ),
    chore(
        "its own signals",
        &[],
        "trap 'echo caught; exit 0' USR1; kill -USR1 $$; sleep 1",
        "caught\n",
    ),
    chore(
        "its children's signals",
        &[],
        "sleep 600 & kill -9 $!; wait $!; echo $?",
        "137\n",
    ),
    chore(
        "a session",
        &["setsid"],
        "setsid -w echo session",
        "session\n",
    ),
    chore(
        "parallel work",
        &["xargs"],
        "seq 8 | xargs -P 4 -n 1 sh -c 'echo $0' | sort -n | tr -d '\\n'",
        "12345678",
    ),
    chore("the time", &["date"], "date -u -d @0 +%Y", "1970\n"),
    chore(
        "processors",
        &["nproc"],
        "test $(nproc) -ge 1 && echo some",
        "some\n",
    ),
    chore(
        "facts of the machine",
        &["uname"],
        "uname -s && test -r /proc/meminfo && test -r /proc/cpuinfo && echo read",
        "Linux\nread\n",
    ),
    chore(
        "names",
        &["getent"],
        "getent passwd root >/dev/null && test -r /etc/os-release && echo known",
        "known\n",
    ),
    chore(
        "the compiler",
        &["cc"],
        "printf '#include <stdio.h>\\nint main(void){puts(\"built\");return 0;}\\n' > p.c && cc -O2 -o p p.c && ./p",
        "built\n",
    ),
    chore(
        "a build",
        &["cc", "make"],
        "printf 'all: a b c d\\n\\ta=1; ./a && ./d\\na b c d: x.c\\n\\tcc -DN=\\\\\"$@\\\\\" -o $@ x.c\\n' > Makefile && printf '#include <stdio.h>\\nint main(void){puts(N);return 0;}\\n' > x.c && make -s -j4",
        "a\nd\n",
    ),
    chore(
        "git",
        &["git"],
        "git init -q r && cd r && git config user.email a@b && git config user.name n && echo x > f && git add . && git commit -qm one && git log --format=%s && git status --short && git branch x && git checkout -q x && git gc -q && git clone -q . ../r2 && git -C ../r2 log --oneline | wc -l",
        "one\n1\n",
    ),
    chore(
        "python",
        &["python3"],
        "python3 -c 'import os, subprocess, tempfile, threading, hashlib; t=threading.Thread(target=print, args=(\"thread\",)); t.start(); t.join(); print(subprocess.check_output([\"echo\", \"sub\"]).decode(), end=\"\"); tempfile.NamedTemporaryFile().write(b\"x\"); p=os.fork(); os._exit(0) if p==0 else os.waitpid(p, 0); print(os.getcwd() == os.environ[\"PWD\"])'",
        "thread\nsub\nTrue\n",
    ),
    chore(
        "perl",
        &["perl"],
        "perl -e 'use POSIX; my $p = fork; exit 3 unless $p; waitpid $p, 0; print $? >> 8, qq(\\n)'",
        "3\n",
    ),
    chore(
        "strings of many",
        &[],
        "x=$(seq 1 20000); echo \"$x\" | tail -1; echo $x | wc -w",
        "20000\n20000\n",
    ),
];

#[test]
fn chores_are_done() {
    at_every_strength(|stage| {
        let mut done = true;
        for Chore {
            name,
            needs,
            script,
            says,
        } in CHORES
        {
            let there = needs
                .iter()
                .map(|program| format!("command -v {program} && "));
            let there = there.collect::<String>() + "true";
            if stage.run(&there).ending != Ending::Exited(0) {
                eprintln!("skipped: {name}: one of {needs:?} is not here");
                continue;
            }
            let run = stage.run(script);
            if run.ending != Ending::Exited(0) || run.stdout.text != *says {
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
fn ends_are_told_apart() {
    at_every_strength(|stage| {
        for code in [0, 1, 2, 42, 126, 127, 128, 255] {
            assert_eq!(
                stage.run(&format!("exit {code}")).ending,
                Ending::Exited(code)
            );
        }
        for signal in [
            "SEGV", "KILL", "TERM", "ABRT", "INT", "HUP", "PIPE", "USR1", "ALRM", "XCPU",
        ] {
            let run = stage.run(&format!("kill -{signal} $$"));
            assert_eq!(run.ending, Ending::Killed(format!("SIG{signal}")));
        }
        assert_eq!(stage.run("/nowhere").ending, Ending::Exited(127));
        assert_eq!(stage.run("./victim").ending, Ending::Exited(126));
        assert_eq!(stage.run("if").ending, Ending::Exited(2));
    });
}

#[test]
fn processor_time_is_limited() {
    at_every_strength(|stage| {
        let run = stage.run("ulimit -t");
        assert_eq!(
            run.stdout.text.trim(),
            stage.policy.limits.cpu_seconds.to_string()
        );
    });
}

#[test]
fn long_output_can_be_read_later() {
    at_every_strength(|stage| {
        let kept = tempfile::tempdir().unwrap();
        let open: fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(kept.path(), open).unwrap();
        let way = Way {
            output: Some(kept.path()),
            ..Way::default()
        };
        let run = stage.run_in_a_way("seq 1 400000; echo last words >&2", &way);
        assert_eq!(run.ending, Ending::Exited(0));
        assert!(
            run.stdout.omitted > 0 && run.stdout.text.len() < 2 << 20,
            "{}",
            run.stdout.omitted
        );
        assert_eq!(run.stdout.bytes, 2_688_895);
        assert_eq!(run.stderr.text, "last words\n");
        let name = run.spool.unwrap();
        assert!(run.stdout.text.contains(&name));
        let script = format!(
            "sed -n 200000p \"$POLIS_OUTPUT\"/{name}; ls \"$POLIS_OUTPUT\" | wc -l; \
             echo owned > \"$POLIS_OUTPUT\"/{name} || rm -f \"$POLIS_OUTPUT\"/{name} || echo closed"
        );
        let later = stage.run_in_a_way(&script, &way);
        assert_eq!(later.stdout.text, "200000\n1\nclosed\n", "{later:?}");
        let length = fs::metadata(kept.path().join(&name)).unwrap().len();
        assert_eq!(length, 2_688_895 + 11);
    });
}

#[test]
fn large_texts_fit() {
    at_every_strength(|stage| {
        let word = "x".repeat(90_000);
        assert_eq!(
            stage.output(&format!("printf %s {word} | wc -c")).trim(),
            "90000"
        );
    });
    for strength in super::stage::strengths() {
        let mut stage = super::stage::Stage::new(strength);
        for number in 0..200 {
            let value = format!("{number} {}", "ü".repeat(500));
            stage.policy.env.insert(format!("LARGE_{number}"), value);
        }
        assert_eq!(stage.output("env | grep -c ^LARGE_"), "200\n");
        assert_eq!(stage.output("echo ${LARGE_199%% *}"), "199\n");
    }
}

/// A workspace of polis's own lies in a directory that nobody else may enter.
#[test]
fn a_workspace_in_a_closed_directory_is_as_good() {
    at_every_strength(|stage| {
        let closed: fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(stage.place(), closed).unwrap();
        assert_eq!(
            stage.output("echo x > f && cat f && mkdir -p a/b && cd a/b && cat ../../f"),
            "x\nx\n"
        );
        assert_eq!(
            stage.output("cat \"$PWD\"/f && cd a && cd \"$PWD\" && cat ../f"),
            "x\nx\n"
        );
        let run =
            stage.run("command -v git >/dev/null || exit 77; git init -q r && cd r && git add .");
        if run.ending == Ending::Exited(77) {
            eprintln!("skipped: no git inside");
        } else {
            assert_eq!(run.ending, Ending::Exited(0), "{run:?}");
        }
    });
}

#[test]
fn commands_at_the_same_time_do_not_meet() {
    at_every_strength(|stage| {
        std::thread::scope(|scope| {
            let runs: Vec<_> = (0..8)
                .map(|number| {
                    scope.spawn(move || {
                        let script = format!(
                            "echo {number} > \"$TMPDIR\"/mine; sleep 0.02; cat \"$TMPDIR\"/mine; \
                             ls \"$TMPDIR\" | grep -c mine"
                        );
                        assert_eq!(stage.output(&script), format!("{number}\n1\n"));
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
fn a_watcher_sees_output_as_it_comes() {
    at_every_strength(|stage| {
        let seen = std::sync::Mutex::new(Vec::new());
        let run = stage.run_in_a_way(
            "echo one; echo two >&2; head -c 3000000 /dev/zero",
            &Way {
                watch: Some(&|_, bytes: &[u8]| seen.lock().unwrap().push(bytes.len())),
                ..Way::default()
            },
        );
        let total: usize = seen.into_inner().unwrap().into_iter().sum();
        assert_eq!(total, 3_000_008);
        assert_eq!(run.stdout.bytes + run.stderr.bytes, 3_000_008);
        assert!(u64::try_from(run.stdout.text.len()).unwrap() < 2 * MIB);
    });
}
