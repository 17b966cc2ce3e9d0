//! Sandboxed commands compared with bubblewrap and with a bare fork and exec, and a leak check over many commands.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use polis_core::workspace::command::Ending;
use polis_core::workspace::policy::{CommandPolicy, Tier};
use polis_workspace::sandbox::{Job, Sandbox};

use crate::report::Report;
use crate::scene::{Fallible, Scene, median};

/// The command that each of them runs.
const COMMAND: &str = "true";

/// Measures commands of a long-running process, then what many of them leave behind.
pub(crate) fn measure(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let workspace = scene.place("commands");
    std::fs::create_dir_all(&workspace)?;
    let sandbox = Sandbox::new();
    let policy = CommandPolicy::default();
    let (mut ours, mut bwrap, mut bare) = (vec![], vec![], vec![]);
    let mut tier = Tier::Bare;
    for round in 0..scene.times(1_000) + 5 {
        let wrapped = timed(|| spawn(bubblewrap(&workspace)))?;
        let plain = timed(|| spawn(shell()))?;
        let begun = Instant::now();
        let run = sandbox.run(&Job::new(&workspace, COMMAND, &policy))?;
        let own = begun.elapsed().as_secs_f64() * 1e6;
        if run.ending != Ending::Exited(0) {
            return Err(format!("the command ended as {:?}", run.ending).into());
        }
        tier = run.tier;
        // Warm-up: the first runs probe the capabilities of the machine.
        if round >= 5 {
            ours.push(own);
            bwrap.push(wrapped);
            bare.push(plain);
        }
    }
    let [ours, bwrap, bare] = [ours, bwrap, bare].map(|mut times| median(&mut times));
    let name = tier.as_str();
    report.at_most(
        "run_command(\"true\") / bubblewrap with tight flags",
        ours / bwrap,
        0.8,
        &format!("{ours:.0} µs at {name} beside {bwrap:.0} µs, medians, in turns"),
    );
    report.at_most(
        "run_command(\"true\") / bare fork + exec of sh -c true",
        ours / bare,
        3.0,
        &format!("{ours:.0} µs at {name} beside {bare:.0} µs, medians, in turns"),
    );
    leftovers(scene, report, &sandbox, &workspace)?;
    large(scene, report, &sandbox, &workspace)
}

/// Measures commands of a process with 256 MiB of memory, whose page tables `clone` copies.
fn large(scene: &Scene, report: &mut Report, sandbox: &Sandbox, workspace: &Path) -> Fallible<()> {
    const HELD: usize = 256 << 20;
    let held = vec![1_u8; HELD];
    let policy = CommandPolicy::default();
    let (mut ours, mut bare) = (vec![], vec![]);
    for _ in 0..scene.times(200) {
        bare.push(timed(|| spawn(shell()))?);
        let begun = Instant::now();
        sandbox.run(&Job::new(workspace, COMMAND, &policy))?;
        ours.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    let (ours, bare) = (median(&mut ours), median(&mut bare));
    report.tell(
        "the same from a process that holds 256 MiB",
        ours / bare,
        &format!(
            "{ours:.0} µs beside {bare:.0} µs, medians; {} MiB held",
            held.iter().filter(|&&byte| byte == 1).count() >> 20
        ),
    );
    Ok(())
}

fn timed(work: impl FnOnce() -> Fallible<()>) -> Fallible<f64> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64() * 1e6)
}

fn spawn(mut command: Command) -> Fallible<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
}

fn shell() -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", COMMAND]);
    command
}

/// Returns a bubblewrap command with all namespaces, no capabilities, and only the workspace and a private `/tmp`
/// writable.
fn bubblewrap(workspace: &Path) -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--die-with-parent", "--new-session"]);
    command.args(["--clearenv", "--cap-drop", "ALL", "--as-pid-1"]);
    command.args(["--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc"]);
    for name in ["bin", "sbin", "lib", "lib64"] {
        let path = Path::new("/").join(name);
        if let Ok(target) = std::fs::read_link(&path) {
            command.arg("--symlink").arg(target).arg(&path);
        } else if path.is_dir() {
            command.arg("--ro-bind").arg(&path).arg(&path);
        }
    }
    command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
    command.arg("--bind").arg(workspace).arg("/workspace");
    command.args(["--chdir", "/workspace", "/bin/sh", "-c", COMMAND]);
    command
}

/// Resources of a process that commands could leak.
#[derive(Debug, PartialEq, Eq)]
struct Holdings {
    children: usize,
    mounts: usize,
    descriptors: usize,
    groups: usize,
}

impl Holdings {
    fn count() -> Fallible<Self> {
        let mut children = 0;
        for task in std::fs::read_dir("/proc/self/task")? {
            let list = std::fs::read_to_string(task?.path().join("children"))?;
            children += list.split_whitespace().count();
        }
        let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
        Ok(Self {
            children,
            mounts: mounts.lines().count(),
            descriptors: std::fs::read_dir("/proc/self/fd")?.count(),
            groups: groups_below(Path::new("/sys/fs/cgroup")),
        })
    }
}

/// Returns the number of cgroups of this process below a directory.
fn groups_below(directory: &Path) -> usize {
    let ours = format!("polis-{}", std::process::id());
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| {
            let own = usize::from(entry.path().to_string_lossy().contains(&ours));
            own + groups_below(&entry.path())
        })
        .sum()
}

fn leftovers(
    scene: &Scene,
    report: &mut Report,
    sandbox: &Sandbox,
    workspace: &Path,
) -> Fallible<()> {
    let policy = CommandPolicy::default();
    let run = |count: usize| -> Fallible<()> {
        for _ in 0..count {
            sandbox.run(&Job::new(workspace, COMMAND, &policy))?;
        }
        Ok(())
    };
    let count = scene.times(1_000);
    run(100)?;
    sandbox.settle();
    let (before, memory) = (Holdings::count()?, resident()?);
    run(count)?;
    sandbox.settle();
    let (after, grown) = (Holdings::count()?, resident()?.saturating_sub(memory));
    report.add(
        &format!("left behind by {count} commands"),
        if before == after {
            "nothing".to_owned()
        } else {
            format!("{before:?} became {after:?}")
        },
        "nothing".to_owned(),
        before == after,
        "processes, mounts, descriptors, control groups",
    );
    report.add(
        &format!("memory grown by {count} commands"),
        format!("{grown} KB"),
        "flat (< 1024 KB)".to_owned(),
        grown < 1_024,
        "resident set after 100 commands beside after the rest",
    );
    Ok(())
}

/// Returns the resident set size in KB.
fn resident() -> Fallible<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or("no VmRSS")?.parse()?)
}
