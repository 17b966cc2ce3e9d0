//! Board benchmarks: appends, section edits and reads compared with the bare system calls they need at least,
//! concurrent appends, and a cold `blackboard read` compared with `cat`.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use polis_core::AgentId;
use polis_core::board::BoardName;
use polis_ops::App;
use polis_ops::op::{
    self, BoardAppendParams, BoardReadParams, BoardWriteParams, SectionAction, SectionEditParams,
};
use polis_store::EmbeddedStore;
use polis_store::embedded::StoreMode;

use crate::bench_env::{BenchEnv, BenchResult, median, run_timed};
use crate::commits::new_runtime;
use crate::polis_setup::new_app;
use crate::report::BenchReport;

/// Size of a large board in bytes: just below the limit, with room for the appends.
const LARGE_BOARD_BYTES: usize = 10_000_000;
/// Size of one append in bytes.
const APPEND_BYTES: usize = 200;

/// Measures boards in one process, then a cold command.
pub(crate) fn measure(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let directory = env.create_project("boards")?;
    let open = |usage| {
        let workspace = directory.join(".agent-workspace");
        EmbeddedStore::open(&workspace, usage, Duration::from_secs(30))
    };
    let server = new_app(Arc::new(open(StoreMode::Server)?));
    let command = new_app(Arc::new(open(StoreMode::OneShot)?));
    let runtime = new_runtime()?;
    runtime.block_on(measure_appends(env, report, &server, &directory))?;
    runtime.block_on(measure_section_edits(env, report, &server, &directory))?;
    runtime.block_on(measure_repeated_reads(env, report, &server))?;
    runtime.block_on(measure_concurrent_appends(
        env, report, &server, &command, &directory,
    ))?;
    measure_cold_read(env, report)
}

/// Returns a board text of about `bytes` bytes: sections with entries, lists, links and code.
fn generate_board_text(bytes: usize) -> String {
    let mut text = "# A board\n\n## 里程碑\n- [ ] M1: first\n".to_owned();
    let mut n = 0;
    while text.len() + 300 < bytes {
        if n % 5 == 0 {
            text.push_str(&format!("\n## Section {n}\n\n"));
        }
        text.push_str(&format!(
            "### Update - 2026-02-15T00:00:{n:02}.000Z\n**By**: agent-{n}\n\nSome *words* here, `code` and a \
             [link](docs/{n}.md) that go on for a while: {n}\n- [ ] item one\n- item two\n\n"
        ));
        if n % 50 == 0 {
            text.push_str("```rust\n# not a heading\nfn main() {}\n```\n\n");
        }
        n += 1;
    }
    text
}

fn bottom_board(name: &str) -> BenchResult<BoardName> {
    Ok(BoardName::Bottom(name.parse()?))
}

async fn overwrite_board(app: &App, name: &BoardName, content: String) -> BenchResult<()> {
    let params = BoardWriteParams {
        board: name.clone(),
        content,
        expected_version: None,
        merge: false,
        force: true,
    };
    op::write_board(&app.request(&AgentId::user()), &params).await?;
    Ok(())
}

/// Appends once. Returns the time in microseconds.
async fn timed_append(app: &App, name: &BoardName) -> BenchResult<f64> {
    let params = BoardAppendParams {
        board: name.clone(),
        content: "x".repeat(APPEND_BYTES),
    };
    let started = Instant::now();
    op::append_board(&app.request(&AgentId::user()), &params).await?;
    Ok(started.elapsed().as_secs_f64() * 1e6)
}

/// Appends to a plain file with `write` and `fdatasync`. Returns the time in microseconds.
fn timed_bare_append(file: &mut File) -> BenchResult<f64> {
    let added = [b'x'; APPEND_BYTES];
    let started = Instant::now();
    file.write_all(&added)?;
    file.sync_data()?;
    Ok(started.elapsed().as_secs_f64() * 1e6)
}

async fn measure_appends(
    env: &BenchEnv,
    report: &mut BenchReport,
    app: &App,
    directory: &Path,
) -> BenchResult<()> {
    let (small, large) = (bottom_board("small")?, bottom_board("large")?);
    overwrite_board(app, &small, generate_board_text(1_000)).await?;
    overwrite_board(app, &large, generate_board_text(LARGE_BOARD_BYTES)).await?;
    let mut file = File::create(directory.join("bare"))?;
    file.write_all(generate_board_text(LARGE_BOARD_BYTES).as_bytes())?;
    file.sync_all()?;
    env.sync_disk()?;
    let (mut to_small, mut to_large, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..env.repetitions(1_000) {
        to_small.push(timed_append(app, &small).await?);
        to_large.push(timed_append(app, &large).await?);
        bare.push(timed_bare_append(&mut file)?);
    }
    let [to_small, to_large, bare] = [to_small, to_large, bare].map(|mut t| median(&mut t));
    report.add_at_most(
        "append of 200 bytes to a 10 MB board / to a 1 KB board",
        to_large / to_small,
        1.3,
        &format!("{to_large:.0} µs vs {to_small:.0} µs, medians, each durable"),
    );
    report.add_at_most(
        "append of 200 bytes to a 10 MB board / bare write + fdatasync",
        to_large / bare,
        2.0,
        &format!("{to_large:.0} µs vs {bare:.0} µs, medians"),
    );
    Ok(())
}

async fn measure_section_edits(
    env: &BenchEnv,
    report: &mut BenchReport,
    app: &App,
    directory: &Path,
) -> BenchResult<()> {
    let large = bottom_board("edited")?;
    let content = generate_board_text(LARGE_BOARD_BYTES);
    overwrite_board(app, &large, content.clone()).await?;
    env.sync_disk()?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    // A multiple of the interval at which the store writes a full copy of the board, so that its cost is
    // included.
    for n in 0..env.repetitions(68) {
        let params = SectionEditParams {
            board: large.clone(),
            title: "Section 5000".to_owned(),
            act: SectionAction::Set,
            content: format!("Edited for the {n}th time."),
            nth: None,
            expected_version: None,
            expected_section: None,
            merge: false,
        };
        let started = Instant::now();
        op::edit_section(&app.request(&AgentId::user()), &params).await?;
        ours.push(started.elapsed().as_secs_f64() * 1e3);
        let started = Instant::now();
        let mut file = File::create(directory.join("bare.new"))?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(directory.join("bare.new"), directory.join("bare.md"))?;
        bare.push(started.elapsed().as_secs_f64() * 1e3);
    }
    let (mean_ours, mean_bare) = (arithmetic_mean(&ours), arithmetic_mean(&bare));
    let (ours, bare) = (median(&mut ours), median(&mut bare));
    let what = "section edit of a 10 MB board / bare write + fsync + rename of 10 MB";
    let detail = format!("{ours:.1} ms vs {bare:.1} ms, medians");
    report.add_at_most(what, ours / bare, 3.0, &detail);
    let detail = format!(
        "{mean_ours:.1} ms vs {mean_bare:.1} ms, means: every 17th edit writes the board whole"
    );
    report.add_at_most("the same, means", mean_ours / mean_bare, 3.0, &detail);
    Ok(())
}

fn arithmetic_mean(values: &[f64]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a count of measurements")]
    let count = values.len() as f64;
    values.iter().sum::<f64>() / count
}

async fn measure_repeated_reads(
    env: &BenchEnv,
    report: &mut BenchReport,
    app: &App,
) -> BenchResult<()> {
    let params = BoardReadParams::for_board(bottom_board("edited")?);
    let user = AgentId::user();
    let first = op::read_board(&app.request(&user), &params).await?;
    let before = process_bytes_read()?;
    let mut latencies = Vec::new();
    let mut shared = true;
    let times = env.repetitions(1_000);
    for _ in 0..times {
        let started = Instant::now();
        let view = op::read_board(&app.request(&user), &params).await?;
        latencies.push(started.elapsed().as_secs_f64() * 1e6);
        shared &= match (&view.content, &first.content) {
            (Some(now), Some(then)) => Arc::ptr_eq(now, then),
            _ => false,
        };
    }
    let read = (process_bytes_read()? - before) / times as u64;
    report.add_figure(
        "reading an unchanged 10 MB board again",
        format!("{read} bytes read"),
        "none of its text".to_owned(),
        shared && read < 4_096,
        &format!(
            "{:.1} µs, median; the same text in memory: {shared}",
            median(&mut latencies)
        ),
    );
    Ok(())
}

/// Returns the number of bytes this process has read through system calls.
fn process_bytes_read() -> BenchResult<u64> {
    let io = std::fs::read_to_string("/proc/self/io")?;
    let line = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    Ok(line.ok_or("no rchar")?.parse()?)
}

async fn measure_concurrent_appends(
    env: &BenchEnv,
    report: &mut BenchReport,
    server: &App,
    command: &App,
    directory: &Path,
) -> BenchResult<()> {
    let appends = env.repetitions(250);
    let (mut many, mut one, mut alone, mut bare) = (vec![], vec![], vec![], vec![]);
    for round in 0..5 {
        let (crowded, single, own) = (
            bottom_board(&format!("crowd-{round}"))?,
            bottom_board(&format!("one-{round}"))?,
            bottom_board(&format!("alone-{round}"))?,
        );
        for name in [&crowded, &single, &own] {
            overwrite_board(server, name, generate_board_text(1_000)).await?;
        }
        many.push(append_rate(server, &crowded, 32, appends).await?);
        one.push(append_rate(server, &single, 1, appends * 4).await?);
        alone.push(append_rate(command, &own, 1, appends * 4).await?);
        let mut file = File::create(directory.join("bare"))?;
        let started = Instant::now();
        for _ in 0..appends * 4 {
            timed_bare_append(&mut file)?;
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of appends")]
        bare.push((appends * 4) as f64 / started.elapsed().as_secs_f64());
    }
    let [many, one, alone, bare] = [many, one, alone, bare].map(|mut rates| median(&mut rates));
    report.add_at_least(
        "32 agents appending at once / the same appends one fsync each",
        many / one,
        8.0,
        &format!("{many:.0} appends/s vs {one:.0} of one agent in the same process"),
    );
    report.add_without_target(
        "the same / one agent that commits in its own thread",
        many / alone,
        &format!("{many:.0} appends/s vs {alone:.0}"),
    );
    report.add_without_target(
        "the same / bare write + fdatasync one after another",
        many / bare,
        &format!("{many:.0} appends/s vs {bare:.0} without board, log or event"),
    );
    Ok(())
}

/// Returns the appends per second of `agents` concurrent agents with `each` appends each.
async fn append_rate(app: &App, name: &BoardName, agents: usize, each: usize) -> BenchResult<f64> {
    let started = Instant::now();
    let appenders: Vec<_> = (0..agents)
        .map(|_| {
            let (app, name) = (app.clone(), name.clone());
            tokio::spawn(async move {
                let params = BoardAppendParams {
                    board: name,
                    content: "x".repeat(APPEND_BYTES),
                };
                for _ in 0..each {
                    op::append_board(&app.request(&AgentId::user()), &params).await?;
                }
                Ok::<(), polis_ops::OpError>(())
            })
        })
        .collect();
    for appender in appenders {
        appender.await??;
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of appends")]
    Ok((agents * each) as f64 / started.elapsed().as_secs_f64())
}

/// Measures a cold `blackboard read` against `cat` of the same file.
fn measure_cold_read(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let directory = env.create_project("blackboard")?;
    let args = [
        "blackboard",
        "write",
        "shared/context.md",
        "--mode",
        "overwrite",
        "--content",
    ];
    run_timed(env.polis_command(
        &directory,
        &[&args[..], &["# Context\n\nSmall.\n"]].concat(),
    ))?;
    let file = directory.join(".agent-workspace/blackboard/shared/context.md");
    let blackboard = env.polis_program.with_file_name("blackboard");
    let (mut ours, mut cat) = (Vec::new(), Vec::new());
    for _ in 0..env.repetitions(200) {
        let mut read = Command::new(&blackboard);
        read.args(["read", "shared/context.md", "--dir"])
            .arg(&directory);
        ours.push(run_timed(read)?.as_secs_f64() * 1e3);
        let mut other = Command::new("cat");
        other.arg(&file);
        cat.push(run_timed(other)?.as_secs_f64() * 1e3);
    }
    let (ours, cat) = (median(&mut ours), median(&mut cat));
    report.add_at_most(
        "cold `blackboard read` / (2 x `cat` + 3 ms)",
        ours / (2.0 * cat + 3.0),
        1.0,
        &format!("{ours:.2} ms vs {cat:.2} ms of `cat`, medians"),
    );
    Ok(())
}
