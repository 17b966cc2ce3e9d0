//! Sandboxed commands compared with bubblewrap and with a bare fork and exec, also from a process with much
//! memory, and a leak check over many commands.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use polis_core::workspace::command::CommandRequest;
use polis_core::workspace::command_outcome::CommandEnding;
use polis_core::workspace::command_policy::{CommandPolicy, SandboxTier};
use polis_workspace::sandbox::{Sandbox, SandboxContext};

use crate::bench_env::{BenchEnv, BenchResult, median};
use crate::report::BenchReport;

/// The command that each of them runs.
const BENCH_COMMAND: &str = "true";

/// Measures commands of a long-running process, then what many of them leave behind.
pub(crate) fn measure(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let workspace = env.path_of("commands");
    std::fs::create_dir_all(&workspace)?;
    let sandbox = Sandbox::new();
    let request = CommandRequest::trusted(BENCH_COMMAND, &CommandPolicy::default());
    let (mut ours, mut bwrap, mut bare) = (vec![], vec![], vec![]);
    let mut tier = SandboxTier::Bare;
    for round in 0..env.repetitions(1_000) + 5 {
        let wrapped = time_micros(|| run_to_success(bubblewrap_command(&workspace)))?;
        let plain = time_micros(|| run_to_success(shell_command()))?;
        let started = Instant::now();
        let run = sandbox.run(&request, &SandboxContext::new(&workspace))?;
        let own = started.elapsed().as_secs_f64() * 1e6;
        if run.ending != CommandEnding::Exited(0) {
            return Err(format!("the command ended as {:?}", run.ending).into());
        }
        tier = run.tier.unwrap_or(tier);
        // Warm-up: the first runs probe the capabilities of the machine.
        if round >= 5 {
            ours.push(own);
            bwrap.push(wrapped);
            bare.push(plain);
        }
    }
    let [ours, bwrap, bare] = [ours, bwrap, bare].map(|mut times| median(&mut times));
    let name = tier.as_str();
    report.add_at_most(
        "run_command(\"true\") / bubblewrap with tight flags",
        ours / bwrap,
        0.8,
        &format!("{ours:.0} µs at {name} vs {bwrap:.0} µs, medians, alternating"),
    );
    report.add_at_most(
        "run_command(\"true\") / bare fork + exec of sh -c true",
        ours / bare,
        3.0,
        &format!("{ours:.0} µs at {name} vs {bare:.0} µs, medians, alternating"),
    );
    measure_leaks(env, report, &sandbox, &workspace)?;
    measure_large_process(env, report, &sandbox, &workspace)
}

/// Measures commands of a process with 256 MiB of memory, whose page tables `clone` copies.
fn measure_large_process(
    env: &BenchEnv,
    report: &mut BenchReport,
    sandbox: &Sandbox,
    workspace: &Path,
) -> BenchResult<()> {
    const HELD: usize = 256 << 20;
    let allocated = vec![1_u8; HELD];
    let request = CommandRequest::trusted(BENCH_COMMAND, &CommandPolicy::default());
    let (mut ours, mut bare) = (vec![], vec![]);
    for _ in 0..env.repetitions(200) {
        bare.push(time_micros(|| run_to_success(shell_command()))?);
        let started = Instant::now();
        sandbox.run(&request, &SandboxContext::new(workspace))?;
        ours.push(started.elapsed().as_secs_f64() * 1e6);
    }
    let (ours, bare) = (median(&mut ours), median(&mut bare));
    report.add_without_target(
        "the same from a process that holds 256 MiB",
        ours / bare,
        &format!(
            "{ours:.0} µs vs {bare:.0} µs, medians; {} MiB held",
            allocated.iter().filter(|&&byte| byte == 1).count() >> 20
        ),
    );
    Ok(())
}

fn time_micros(work: impl FnOnce() -> BenchResult<()>) -> BenchResult<f64> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed().as_secs_f64() * 1e6)
}

fn run_to_success(mut command: Command) -> BenchResult<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
}

fn shell_command() -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", BENCH_COMMAND]);
    command
}

/// Returns a bubblewrap command with all namespaces, no capabilities, and only the workspace and a private
/// `/tmp` writable.
fn bubblewrap_command(workspace: &Path) -> Command {
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
    command.args(["--chdir", "/workspace", "/bin/sh", "-c", BENCH_COMMAND]);
    command
}

/// Resources of a process that commands could leak.
#[derive(Debug, PartialEq, Eq)]
struct LeakableResources {
    children: usize,
    mounts: usize,
    descriptors: usize,
    cgroups: usize,
}

impl LeakableResources {
    fn count_current() -> BenchResult<Self> {
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
            cgroups: count_cgroups_below(Path::new("/sys/fs/cgroup")),
        })
    }
}

/// Returns the number of cgroups of this process below a directory.
fn count_cgroups_below(directory: &Path) -> usize {
    let prefix = format!("polis-{}", std::process::id());
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| {
            let own = usize::from(entry.path().to_string_lossy().contains(&prefix));
            own + count_cgroups_below(&entry.path())
        })
        .sum()
}

fn measure_leaks(
    env: &BenchEnv,
    report: &mut BenchReport,
    sandbox: &Sandbox,
    workspace: &Path,
) -> BenchResult<()> {
    let request = CommandRequest::trusted(BENCH_COMMAND, &CommandPolicy::default());
    let run = |count: usize| -> BenchResult<()> {
        for _ in 0..count {
            sandbox.run(&request, &SandboxContext::new(workspace))?;
        }
        Ok(())
    };
    let count = env.repetitions(1_000);
    run(100)?;
    sandbox.wait_for_exiting_wardens();
    let (before, memory) = (LeakableResources::count_current()?, resident_kb()?);
    run(count)?;
    sandbox.wait_for_exiting_wardens();
    let (after, growth) = (
        LeakableResources::count_current()?,
        resident_kb()?.saturating_sub(memory),
    );
    report.add_figure(
        &format!("resources leaked by {count} commands"),
        if before == after {
            "nothing".to_owned()
        } else {
            format!("{before:?} became {after:?}")
        },
        "nothing".to_owned(),
        before == after,
        "processes, mounts, descriptors, control groups",
    );
    report.add_figure(
        &format!("memory growth after {count} commands"),
        format!("{growth} KB"),
        "flat (< 1024 KB)".to_owned(),
        growth < 1_024,
        "resident set after 100 commands vs at the end",
    );
    Ok(())
}

/// Returns the resident set size in KB.
fn resident_kb() -> BenchResult<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or("no VmRSS")?.parse()?)
}
