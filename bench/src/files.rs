//! File tools (write, read, list, count) compared with `std::fs` calls and `find` that do the same with the same
//! durability.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use polis_core::workspace::file::{ListFiles, ReadFile, WriteFile};
use polis_workspace::files::WorkspaceDir;

use crate::report::Report;
use crate::scene::{Fallible, Scene, median};

/// Measures writing and reading, listing, and counting.
pub(crate) fn measure(scene: &Scene, report: &mut Report) -> Fallible<()> {
    write_and_read(scene, report)?;
    list(scene, report)?;
    count(scene, report)
}

fn write_and_read(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let place = scene.place("files");
    let (inside, beside) = (place.join("workspace"), place.join("beside"));
    fs::create_dir_all(&inside)?;
    fs::create_dir_all(&beside)?;
    let workspace = WorkspaceDir::open(&inside)?;
    let content = "x".repeat(4_096);
    let (mut ours, mut bare) = (vec![], vec![]);
    for n in 0..scene.times(2_000) {
        let name = format!("{}.txt", n % 50);
        let begun = Instant::now();
        workspace.write(&WriteFile {
            path: name.clone(),
            content: content.clone(),
            ..WriteFile::default()
        })?;
        let read = workspace.read(&ReadFile {
            path: name.clone(),
            ..ReadFile::default()
        })?;
        ours.push(begun.elapsed().as_secs_f64() * 1e6);
        let begun = Instant::now();
        bare_write(&beside, &name, content.as_bytes())?;
        let plain = fs::read_to_string(beside.join(&name))?;
        bare.push(begun.elapsed().as_secs_f64() * 1e6);
        if read.content != plain {
            return Err("what was written does not read back".into());
        }
    }
    let (ours, bare) = (median(&mut ours), median(&mut bare));
    report.at_most(
        "write_file + read_file of 4 KiB / std::fs with the same durability",
        ours / bare,
        1.5,
        &format!("{ours:.0} µs beside {bare:.0} µs, medians: temporary file, fsync, rename, fsync of the directory, read"),
    );
    Ok(())
}

fn bare_write(directory: &Path, name: &str, content: &[u8]) -> Fallible<()> {
    let temporary = directory.join("new");
    let mut file = File::create(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&temporary, directory.join(name))?;
    File::open(directory)?.sync_all()?;
    Ok(())
}

fn list(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let place = scene.place("listed");
    fs::create_dir_all(&place)?;
    for n in 0..10_000 {
        fs::write(place.join(format!("file-{n:05}.txt")), "x")?;
    }
    let workspace = WorkspaceDir::open(&place)?;
    let (mut ours, mut bare) = (vec![], vec![]);
    for _ in 0..scene.times(100) {
        let begun = Instant::now();
        let listed = workspace.list(&ListFiles::default())?;
        ours.push(begun.elapsed().as_secs_f64() * 1e3);
        let begun = Instant::now();
        let mut sizes = Vec::new();
        for entry in fs::read_dir(&place)? {
            let entry = entry?;
            sizes.push((entry.file_name(), entry.metadata()?.len()));
        }
        bare.push(begun.elapsed().as_secs_f64() * 1e3);
        if listed.files.len() != sizes.len() {
            return Err("not everything was listed".into());
        }
    }
    let (ours, bare) = (median(&mut ours), median(&mut bare));
    report.at_most(
        "list_files of 10,000 entries / std::fs::read_dir + metadata",
        ours / bare,
        2.0,
        &format!("{ours:.1} ms, sorted, beside {bare:.1} ms, medians"),
    );
    Ok(())
}

fn count(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let place = scene.place("counted");
    for directory in 0..100 {
        let directory = place.join(format!("directory-{directory:03}"));
        fs::create_dir_all(&directory)?;
        for n in 0..1_000 {
            fs::write(directory.join(format!("file-{n:04}.txt")), "x")?;
        }
    }
    let workspace = WorkspaceDir::open(&place)?;
    let (mut ours, mut find) = (vec![], vec![]);
    for _ in 0..scene.times(20) {
        let begun = Instant::now();
        let info = workspace.info()?;
        ours.push(begun.elapsed().as_secs_f64() * 1e3);
        let begun = Instant::now();
        let output = Command::new("find")
            .args([".", "-printf", "%s"])
            .current_dir(&place)
            .output()?;
        find.push(begun.elapsed().as_secs_f64() * 1e3);
        if info.file_count != 100_000 || info.dir_count != 100 || output.stdout.is_empty() {
            return Err(format!("counted {info:?}").into());
        }
    }
    let (ours, find) = (median(&mut ours), median(&mut find));
    report.at_most(
        "get_workspace_info on 100,000 files / find . -printf '%s'",
        ours / find,
        1.5,
        &format!("{ours:.0} ms beside {find:.0} ms, medians"),
    );
    Ok(())
}
