//! The confined files of a workspace, used as a library: `cargo run --example files -p polis-workspace`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use polis_core::Code;
use polis_core::workspace::file::{EditFile, ListFiles, ReadFile, SearchFiles, WriteFile};
use polis_workspace::files::WorkspaceDir;

fn main() -> Result<(), Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let workspace = WorkspaceDir::open(place.path())?;

    // Directories on the way are made; the file is there whole, and durable, when this returns.
    let written = workspace.write(&WriteFile {
        path: "src/main.rs".to_owned(),
        content: "fn main() {\n    println!(\"hello\");\n}\n".to_owned(),
        ..WriteFile::default()
    })?;
    println!("wrote {} bytes", written.bytes);

    // The hash makes sure that nobody changed the file since we saw it.
    let edited = workspace.edit(&EditFile {
        path: "src/main.rs".to_owned(),
        old_text: "hello".to_owned(),
        new_text: "hello, team".to_owned(),
        expected_hash: Some(written.hash),
        ..EditFile::default()
    })?;
    println!("replaced {} place", edited.replaced);

    let read = workspace.read(&ReadFile {
        path: "src/main.rs".to_owned(),
        start_line: Some(2),
        end_line: Some(2),
        ..ReadFile::default()
    })?;
    print!("line 2 of {:?}: {}", read.total_lines, read.content);

    for entry in workspace
        .list(&ListFiles {
            path: None,
            recursive: true,
            ..ListFiles::default()
        })?
        .files
    {
        println!("{:?} {} ({} bytes)", entry.kind, entry.name, entry.size);
    }

    let found = workspace.search(&SearchFiles {
        pattern: r"println!\(".to_owned(),
        globs: vec!["*.rs".to_owned()],
        ..SearchFiles::default()
    })?;
    for found in found.matches {
        println!("{}:{}: {}", found.path, found.line, found.text.trim());
    }

    // No path leads out, by its text or through a link.
    std::os::unix::fs::symlink("/etc", place.path().join("link"))?;
    for path in ["../x", "/etc/passwd", "link/passwd"] {
        let refused = workspace.read(&ReadFile {
            path: path.to_owned(),
            ..ReadFile::default()
        });
        match refused {
            Err(error) if error.code == Code::PathTraversalBlocked => {
                println!("{path}: {} Next: {}.", error.message, error.hint);
            }
            other => return Err(format!("{path} was not refused: {other:?}").into()),
        }
    }
    Ok(())
}
