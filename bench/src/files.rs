//! File tools (write, read, list, count) compared with `std::fs` calls and `find` that do the same with the
//! same durability.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use polis_core::workspace::file_tools::{ListFilesParams, ReadFileParams, WriteFileParams};
use polis_workspace::files::WorkspaceDir;

use crate::bench_env::{BenchEnv, BenchResult, median};
use crate::report::BenchReport;

/// Measures writing and reading, listing, and counting.
pub(crate) fn measure(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    measure_write_and_read(env, report)?;
    measure_list(env, report)?;
    measure_count(env, report)
}

fn measure_write_and_read(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let directory = env.path_of("files");
    let (inside, beside) = (directory.join("workspace"), directory.join("beside"));
    fs::create_dir_all(&inside)?;
    fs::create_dir_all(&beside)?;
    let workspace = WorkspaceDir::open(&inside)?;
    let content = "x".repeat(4_096);
    let (mut ours, mut bare) = (vec![], vec![]);
    for n in 0..env.repetitions(2_000) {
        let name = format!("{}.txt", n % 50);
        let started = Instant::now();
        workspace.write(&WriteFileParams {
            path: name.clone(),
            content: content.clone(),
            ..WriteFileParams::default()
        })?;
        let read = workspace.read(&ReadFileParams {
            path: name.clone(),
            ..ReadFileParams::default()
        })?;
        ours.push(started.elapsed().as_secs_f64() * 1e6);
        let started = Instant::now();
        bare_write(&beside, &name, content.as_bytes())?;
        let plain = fs::read_to_string(beside.join(&name))?;
        bare.push(started.elapsed().as_secs_f64() * 1e6);
        if read.content != plain {
            return Err("the content read back differs".into());
        }
    }
    let (ours, bare) = (median(&mut ours), median(&mut bare));
    report.add_at_most(
        "write_file + read_file of 4 KiB / std::fs with the same durability",
        ours / bare,
        1.5,
        &format!("{ours:.0} µs vs {bare:.0} µs, medians: temporary file, fsync, rename, fsync of the directory, read"),
    );
    Ok(())
}

fn bare_write(directory: &Path, name: &str, content: &[u8]) -> BenchResult<()> {
    let temporary = directory.join("new");
    let mut file = File::create(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&temporary, directory.join(name))?;
    File::open(directory)?.sync_all()?;
    Ok(())
}

fn measure_list(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let directory = env.path_of("listed");
    fs::create_dir_all(&directory)?;
    for n in 0..10_000 {
        fs::write(directory.join(format!("file-{n:05}.txt")), "x")?;
    }
    let workspace = WorkspaceDir::open(&directory)?;
    let (mut ours, mut bare) = (vec![], vec![]);
    for _ in 0..env.repetitions(100) {
        let started = Instant::now();
        let listed = workspace.list(&ListFilesParams::default())?;
        ours.push(started.elapsed().as_secs_f64() * 1e3);
        let started = Instant::now();
        let mut sizes = Vec::new();
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            sizes.push((entry.file_name(), entry.metadata()?.len()));
        }
        bare.push(started.elapsed().as_secs_f64() * 1e3);
        if listed.files.len() != sizes.len() {
            return Err("the listing is incomplete".into());
        }
    }
    let (ours, bare) = (median(&mut ours), median(&mut bare));
    report.add_at_most(
        "list_files of 10,000 entries / std::fs::read_dir + metadata",
        ours / bare,
        2.0,
        &format!("{ours:.1} ms, sorted, vs {bare:.1} ms, medians"),
    );
    Ok(())
}

fn measure_count(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let root = env.path_of("counted");
    for directory in 0..100 {
        let directory = root.join(format!("directory-{directory:03}"));
        fs::create_dir_all(&directory)?;
        for n in 0..1_000 {
            fs::write(directory.join(format!("file-{n:04}.txt")), "x")?;
        }
    }
    let workspace = WorkspaceDir::open(&root)?;
    let (mut ours, mut find) = (vec![], vec![]);
    for _ in 0..env.repetitions(20) {
        let started = Instant::now();
        let info = workspace.info()?;
        ours.push(started.elapsed().as_secs_f64() * 1e3);
        let started = Instant::now();
        let output = Command::new("find")
            .args([".", "-printf", "%s"])
            .current_dir(&root)
            .output()?;
        find.push(started.elapsed().as_secs_f64() * 1e3);
        if info.file_count != 100_000 || info.dir_count != 100 || output.stdout.is_empty() {
            return Err(format!("counted {info:?}").into());
        }
    }
    let (ours, find) = (median(&mut ours), median(&mut find));
    report.add_at_most(
        "get_workspace_info on 100,000 files / find . -printf '%s'",
        ours / find,
        1.5,
        &format!("{ours:.0} ms vs {find:.0} ms, medians"),
    );
    Ok(())
}
