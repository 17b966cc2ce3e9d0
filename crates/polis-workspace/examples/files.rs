//! Example: confined file operations in a workspace. `cargo run --example files -p polis-workspace`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use polis_core::RefusalCode;
use polis_core::workspace::file_tools::{
    EditFileParams, ListFilesParams, ReadFileParams, SearchFilesParams, WriteFileParams,
};
use polis_i18n::{Surface, UiLanguage};
use polis_workspace::files::WorkspaceDir;

fn main() -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let workspace = WorkspaceDir::open(scratch.path())?;

    // Creates missing parent directories; when this returns, the file is complete and durable.
    let written = workspace.write(&WriteFileParams {
        path: "src/main.rs".to_owned(),
        content: "fn main() {\n    println!(\"hello\");\n}\n".to_owned(),
        ..WriteFileParams::default()
    })?;
    println!("wrote {} bytes", written.bytes);

    // The hash ensures that the file has not changed since we wrote it.
    let edited = workspace.edit(&EditFileParams {
        path: "src/main.rs".to_owned(),
        old_text: "hello".to_owned(),
        new_text: "hello, team".to_owned(),
        expected_hash: Some(written.hash),
        ..EditFileParams::default()
    })?;
    println!("replaced {} place", edited.replaced);

    let read = workspace.read(&ReadFileParams {
        path: "src/main.rs".to_owned(),
        start_line: Some(2),
        end_line: Some(2),
        ..ReadFileParams::default()
    })?;
    print!("line 2 of {:?}: {}", read.total_lines, read.content);

    for entry in workspace
        .list(&ListFilesParams {
            path: None,
            recursive: true,
            ..ListFilesParams::default()
        })?
        .files
    {
        println!("{:?} {} ({} bytes)", entry.kind, entry.name, entry.size);
    }

    let found = workspace.search(&SearchFilesParams {
        pattern: r"println!\(".to_owned(),
        globs: vec!["*.rs".to_owned()],
        ..SearchFilesParams::default()
    })?;
    for found in found.matches {
        println!("{}:{}: {}", found.path, found.line, found.text.trim());
    }

    // No path leads out, neither by its text nor through a symbolic link.
    std::os::unix::fs::symlink("/etc", scratch.path().join("link"))?;
    for path in ["../x", "/etc/passwd", "link/passwd"] {
        let refused = workspace.read(&ReadFileParams {
            path: path.to_owned(),
            ..ReadFileParams::default()
        });
        match refused {
            Err(error) if error.code == RefusalCode::PATH_TRAVERSAL_BLOCKED => {
                let text = error.render(Surface::Cli, UiLanguage::En);
                println!("{path}: {} Next: {}.", text.message, text.hint);
            }
            other => return Err(format!("{path} was not refused: {other:?}").into()),
        }
    }
    Ok(())
}
