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
use polis_ops::Polis;
use polis_ops::op::{self, BoardAppend, BoardOverwrite, BoardRead, SectionAct, SectionChange};
use polis_store::EmbeddedStore;
use polis_store::embedded::Use;

use crate::commits::runtime;
use crate::ground::ground;
use crate::report::Report;
use crate::scene::{Fallible, Scene, median, run};

/// Size of a large board in bytes: just below the limit, with room for the appends.
const LARGE: usize = 10_000_000;
/// Size of one append in bytes.
const ADDED: usize = 200;

/// Measures boards in one process, then a cold command.
pub(crate) fn measure(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let place = scene.board("boards")?;
    let open = |usage| {
        let workspace = place.join(".agent-workspace");
        EmbeddedStore::open(&workspace, usage, Duration::from_secs(30))
    };
    let server = ground(Arc::new(open(Use::Long)?));
    let command = ground(Arc::new(open(Use::Brief)?));
    let runtime = runtime()?;
    runtime.block_on(appends(scene, report, &server, &place))?;
    runtime.block_on(edits(scene, report, &server, &place))?;
    runtime.block_on(reads(scene, report, &server))?;
    runtime.block_on(crowd(scene, report, &server, &command, &place))?;
    cold(scene, report)
}

/// Returns a board text of about `bytes` bytes: sections with entries, lists, links and code.
fn text(bytes: usize) -> String {
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

fn board(name: &str) -> Fallible<BoardName> {
    Ok(BoardName::Bottom(name.parse()?))
}

async fn write(polis: &Polis, name: &BoardName, content: String) -> Fallible<()> {
    let params = BoardOverwrite {
        board: name.clone(),
        content,
        expected_version: None,
        merge: false,
        force: true,
    };
    op::write_board(polis, &AgentId::user(), &params).await?;
    Ok(())
}

/// Appends once. Returns the time in microseconds.
async fn append(polis: &Polis, name: &BoardName) -> Fallible<f64> {
    let params = BoardAppend {
        board: name.clone(),
        content: "x".repeat(ADDED),
    };
    let begun = Instant::now();
    op::append_board(polis, &AgentId::user(), &params).await?;
    Ok(begun.elapsed().as_secs_f64() * 1e6)
}

/// Appends to a plain file with `write` and `fdatasync`. Returns the time in microseconds.
fn bare_append(file: &mut File) -> Fallible<f64> {
    let added = [b'x'; ADDED];
    let begun = Instant::now();
    file.write_all(&added)?;
    file.sync_data()?;
    Ok(begun.elapsed().as_secs_f64() * 1e6)
}

async fn appends(scene: &Scene, report: &mut Report, polis: &Polis, place: &Path) -> Fallible<()> {
    let (small, large) = (board("small")?, board("large")?);
    write(polis, &small, text(1_000)).await?;
    write(polis, &large, text(LARGE)).await?;
    let mut file = File::create(place.join("bare"))?;
    file.write_all(text(LARGE).as_bytes())?;
    file.sync_all()?;
    scene.settle()?;
    let (mut to_small, mut to_large, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..scene.times(1_000) {
        to_small.push(append(polis, &small).await?);
        to_large.push(append(polis, &large).await?);
        bare.push(bare_append(&mut file)?);
    }
    let [to_small, to_large, bare] = [to_small, to_large, bare].map(|mut t| median(&mut t));
    report.at_most(
        "append of 200 bytes to a 10 MB board / to a 1 KB board",
        to_large / to_small,
        1.3,
        &format!("{to_large:.0} µs beside {to_small:.0} µs, medians, each durable"),
    );
    report.at_most(
        "append of 200 bytes to a 10 MB board / bare write + fdatasync",
        to_large / bare,
        2.0,
        &format!("{to_large:.0} µs beside {bare:.0} µs, medians"),
    );
    Ok(())
}

async fn edits(scene: &Scene, report: &mut Report, polis: &Polis, place: &Path) -> Fallible<()> {
    let large = board("edited")?;
    let content = text(LARGE);
    write(polis, &large, content.clone()).await?;
    scene.settle()?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    // A multiple of the interval at which the store writes a full copy of the board, so that its cost is included.
    for n in 0..scene.times(68) {
        let params = SectionChange {
            board: large.clone(),
            title: "Section 5000".to_owned(),
            act: SectionAct::Set,
            content: format!("Edited for the {n}th time."),
            nth: None,
            expected_version: None,
            expected_section: None,
            merge: false,
        };
        let begun = Instant::now();
        op::edit_section(polis, &AgentId::user(), &params).await?;
        ours.push(begun.elapsed().as_secs_f64() * 1e3);
        let begun = Instant::now();
        let mut file = File::create(place.join("bare.new"))?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(place.join("bare.new"), place.join("bare.md"))?;
        bare.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    let (mean_ours, mean_bare) = (mean(&ours), mean(&bare));
    let (ours, bare) = (median(&mut ours), median(&mut bare));
    let what = "section edit of a 10 MB board / bare write + fsync + rename of 10 MB";
    let how = format!("{ours:.1} ms beside {bare:.1} ms, medians");
    report.at_most(what, ours / bare, 3.0, &how);
    let how = format!(
        "{mean_ours:.1} ms beside {mean_bare:.1} ms, means: every 17th edit writes the board whole"
    );
    report.at_most("the same, means", mean_ours / mean_bare, 3.0, &how);
    Ok(())
}

fn mean(values: &[f64]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a count of measurements")]
    let count = values.len() as f64;
    values.iter().sum::<f64>() / count
}

async fn reads(scene: &Scene, report: &mut Report, polis: &Polis) -> Fallible<()> {
    let params = BoardRead::of(board("edited")?);
    let user = AgentId::user();
    let first = op::read_board(polis, &user, &params).await?;
    let before = bytes_read()?;
    let mut again = Vec::new();
    let mut shared = true;
    let times = scene.times(1_000);
    for _ in 0..times {
        let begun = Instant::now();
        let view = op::read_board(polis, &user, &params).await?;
        again.push(begun.elapsed().as_secs_f64() * 1e6);
        shared &= match (&view.content, &first.content) {
            (Some(now), Some(then)) => Arc::ptr_eq(now, then),
            _ => false,
        };
    }
    let read = (bytes_read()? - before) / times as u64;
    report.add(
        "reading an unchanged 10 MB board again",
        format!("{read} bytes read"),
        "none of its text".to_owned(),
        shared && read < 4_096,
        &format!(
            "{:.1} µs, median; the same text in memory: {shared}",
            median(&mut again)
        ),
    );
    Ok(())
}

/// Returns the number of bytes this process has read through system calls.
fn bytes_read() -> Fallible<u64> {
    let io = std::fs::read_to_string("/proc/self/io")?;
    let line = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    Ok(line.ok_or("no rchar")?.parse()?)
}

async fn crowd(
    scene: &Scene,
    report: &mut Report,
    server: &Polis,
    command: &Polis,
    place: &Path,
) -> Fallible<()> {
    let each = scene.times(250);
    let (mut many, mut one, mut alone, mut bare) = (vec![], vec![], vec![], vec![]);
    for round in 0..5 {
        let (crowded, single, own) = (
            board(&format!("crowd-{round}"))?,
            board(&format!("one-{round}"))?,
            board(&format!("alone-{round}"))?,
        );
        for name in [&crowded, &single, &own] {
            write(server, name, text(1_000)).await?;
        }
        many.push(rate(server, &crowded, 32, each).await?);
        one.push(rate(server, &single, 1, each * 4).await?);
        alone.push(rate(command, &own, 1, each * 4).await?);
        let mut file = File::create(place.join("bare"))?;
        let begun = Instant::now();
        for _ in 0..each * 4 {
            bare_append(&mut file)?;
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of appends")]
        bare.push((each * 4) as f64 / begun.elapsed().as_secs_f64());
    }
    let [many, one, alone, bare] = [many, one, alone, bare].map(|mut rates| median(&mut rates));
    report.at_least(
        "32 agents appending at once / the same appends one fsync each",
        many / one,
        8.0,
        &format!("{many:.0} appends/s beside {one:.0} of one agent in the same process"),
    );
    report.tell(
        "the same / one agent that commits in its own thread",
        many / alone,
        &format!("{many:.0} appends/s beside {alone:.0}"),
    );
    report.tell(
        "the same / bare write + fdatasync one after another",
        many / bare,
        &format!("{many:.0} appends/s beside {bare:.0} without board, log or event"),
    );
    Ok(())
}

/// Returns the appends per second of `agents` concurrent agents with `each` appends each.
async fn rate(polis: &Polis, name: &BoardName, agents: usize, each: usize) -> Fallible<f64> {
    let begun = Instant::now();
    let appenders: Vec<_> = (0..agents)
        .map(|_| {
            let (polis, name) = (polis.clone(), name.clone());
            tokio::spawn(async move {
                let params = BoardAppend {
                    board: name,
                    content: "x".repeat(ADDED),
                };
                for _ in 0..each {
                    op::append_board(&polis, &AgentId::user(), &params).await?;
                }
                Ok::<(), polis_ops::OpError>(())
            })
        })
        .collect();
    for appender in appenders {
        appender.await??;
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of appends")]
    Ok((agents * each) as f64 / begun.elapsed().as_secs_f64())
}

/// Measures a cold `blackboard read` against `cat` of the same file.
fn cold(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let place = scene.board("blackboard")?;
    let args = [
        "blackboard",
        "write",
        "shared/context.md",
        "--mode",
        "overwrite",
        "--content",
    ];
    run(scene.polis(&place, &[&args[..], &["# Context\n\nSmall.\n"]].concat()))?;
    let file = place.join(".agent-workspace/blackboard/shared/context.md");
    let blackboard = scene.polis.with_file_name("blackboard");
    let (mut ours, mut cat) = (Vec::new(), Vec::new());
    for _ in 0..scene.times(200) {
        let mut read = Command::new(&blackboard);
        read.args(["read", "shared/context.md", "--dir"])
            .arg(&place);
        ours.push(run(read)?.as_secs_f64() * 1e3);
        let mut other = Command::new("cat");
        other.arg(&file);
        cat.push(run(other)?.as_secs_f64() * 1e3);
    }
    let (ours, cat) = (median(&mut ours), median(&mut cat));
    report.at_most(
        "cold `blackboard read` / (2 x `cat` + 3 ms)",
        ours / (2.0 * cat + 3.0),
        1.0,
        &format!("{ours:.2} ms beside {cat:.2} ms of `cat`, medians"),
    );
    Ok(())
}
