//! Tests of the file tools read, write and edit: results, refusal codes, encodings, expected hashes, file
//! modes, links and file locks.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use polis_core::workspace::file_tools::{
    EditFileParams, FileContent, FileEncoding, ReadFileParams, WriteFileParams,
};
use polis_core::{RefusalCode, RefusalDetails};
use polis_workspace::files::{FileLimits, WorkspaceDir};

use crate::test_workspace::{
    RESOLVERS, TestWorkspace, edit_params, refusal_code, rendered, test_limits, write_params,
};

const SHA256_OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

#[test]
fn file_is_written_and_read() {
    for resolver in RESOLVERS {
        let ground = TestWorkspace::with_resolver(resolver);
        let written = ground.write("a/b/c.txt", "abc").unwrap();
        assert!(written.ok && written.created);
        assert_eq!(written.bytes, 3);
        assert_eq!(written.hash, SHA256_OF_ABC);
        let read = ground.read("./a//b/c.txt").unwrap();
        assert_eq!(read.content, "abc");
        assert_eq!(read.size, 3);
        assert_eq!(read.hash.as_deref(), Some(SHA256_OF_ABC));
        assert!(!read.truncated && read.encoding.is_none() && read.total_lines.is_none());
        assert!(!ground.write("a/b/c.txt", "").unwrap().created);
        assert_eq!(ground.read("a/b/c.txt").unwrap().content, "");
        assert_eq!(ground.file_names("a/b"), ["c.txt"]);
    }
}

#[test]
fn binary_file_is_read_as_base64() {
    let ground = TestWorkspace::new();
    let bytes = [0xff, 0x00, 0xfe, 0x80];
    let ask = WriteFileParams {
        encoding: FileEncoding::Base64,
        ..write_params("x.bin", &STANDARD.encode(bytes))
    };
    assert_eq!(ground.dir.write(&ask).unwrap().bytes, 4);
    assert_eq!(std::fs::read(ground.host_path("x.bin")).unwrap(), bytes);
    let refused = ground.read("x.bin").unwrap_err();
    assert_eq!(refused.code, RefusalCode::NOT_TEXT);
    assert!(rendered(&refused).hint.contains("base64"));
    let read = ground
        .dir
        .read(&ReadFileParams {
            path: "x.bin".to_owned(),
            encoding: FileEncoding::Base64,
            ..ReadFileParams::default()
        })
        .unwrap();
    assert_eq!(STANDARD.decode(read.content).unwrap(), bytes);
    assert_eq!(read.encoding, Some(FileEncoding::Base64));
    let broken = WriteFileParams {
        encoding: FileEncoding::Base64,
        ..write_params("x.bin", "not base64!")
    };
    assert_eq!(
        refusal_code(ground.dir.write(&broken)),
        RefusalCode::INVALID_INPUT
    );
}

fn read_lines(ground: &TestWorkspace, first: Option<u64>, last: Option<u64>) -> FileContent {
    ground
        .dir
        .read(&ReadFileParams {
            path: "f".to_owned(),
            start_line: first,
            end_line: last,
            ..ReadFileParams::default()
        })
        .unwrap()
}

#[test]
fn line_range_is_read_with_line_endings() {
    let ground = TestWorkspace::new();
    ground.write("f", "one\ntwo\r\nthree\nfour").unwrap();
    let some = read_lines(&ground, Some(2), Some(3));
    assert_eq!(some.content, "two\r\nthree\n");
    assert_eq!(
        (some.start_line, some.end_line, some.total_lines),
        (Some(2), Some(3), Some(4))
    );
    assert_eq!(some.hash, None);
    assert_eq!(read_lines(&ground, None, Some(1)).content, "one\n");
    let rest = read_lines(&ground, Some(4), None);
    assert_eq!((rest.content.as_str(), rest.end_line), ("four", Some(4)));
    let past = read_lines(&ground, Some(9), Some(10));
    assert_eq!(
        (past.content.as_str(), past.end_line, past.total_lines),
        ("", None, Some(4))
    );
    ground.write("f", "one\ntwo\n").unwrap();
    assert_eq!(read_lines(&ground, Some(1), None).total_lines, Some(2));
    ground.write("f", "").unwrap();
    assert_eq!(read_lines(&ground, Some(1), None).total_lines, Some(0));
    ground.write("f", "\n\n").unwrap();
    assert_eq!(read_lines(&ground, Some(2), Some(2)).content, "\n");
    for (first, last) in [(Some(0), None), (Some(3), Some(2)), (None, Some(0))] {
        let ask = ReadFileParams {
            path: "f".to_owned(),
            start_line: first,
            end_line: last,
            ..ReadFileParams::default()
        };
        assert_eq!(
            refusal_code(ground.dir.read(&ask)),
            RefusalCode::INVALID_INPUT
        );
    }
}

#[test]
fn large_file_is_read_in_parts() {
    let ground = TestWorkspace::new();
    let small = ground.dir.with_limits(FileLimits {
        max_read_bytes: 1_000,
        ..test_limits()
    });
    let path = "f".to_owned();
    let text: String = (1..=1_000).map(|n| format!("line {n} é\n")).collect();
    small.write(&write_params("f", &text)).unwrap();
    let ask = ReadFileParams {
        path,
        ..ReadFileParams::default()
    };
    let refused = small.read(&ask).unwrap_err();
    assert_eq!(refused.code, RefusalCode::FILE_TOO_LARGE);
    assert!(rendered(&refused).hint.contains("startLine"));

    let part = small
        .read(&ReadFileParams {
            start_line: Some(900),
            end_line: Some(902),
            ..ask.clone()
        })
        .unwrap();
    assert_eq!(part.content, "line 900 é\nline 901 é\nline 902 é\n");
    assert_eq!(part.total_lines, None, "the file was not read to its end");
    assert_eq!(part.size, text.len() as u64);

    // The limit may fall within any character; the returned text never ends within one.
    for most in 0..40 {
        let cut = small
            .read(&ReadFileParams {
                max_bytes: Some(most),
                ..ask.clone()
            })
            .unwrap();
        assert!(cut.truncated && cut.hash.is_none());
        assert!(text.starts_with(&cut.content));
        assert!((most.saturating_sub(1)..=most).contains(&(cut.content.len() as u64)));
        assert_eq!(cut.size, text.len() as u64);
    }
    let capped = small
        .read(&ReadFileParams {
            start_line: Some(1),
            max_bytes: Some(20),
            ..ask.clone()
        })
        .unwrap();
    assert_eq!(capped.content, "line 1 é\nline 2 é\n");
    assert!(capped.truncated);
    assert_eq!(capped.end_line, Some(2));
    let all = small
        .read(&ReadFileParams {
            start_line: Some(1),
            ..ask
        })
        .unwrap();
    assert!(all.truncated && all.content.len() <= 1_000);
}

#[test]
fn missing_path_or_wrong_file_type_is_refused() {
    for resolver in RESOLVERS {
        let ground = TestWorkspace::with_resolver(resolver);
        ground.write("f", "x").unwrap();
        std::fs::create_dir(ground.host_path("d")).unwrap();
        assert_eq!(refusal_code(ground.read("no")), RefusalCode::FILE_NOT_FOUND);
        assert_eq!(
            refusal_code(ground.read("no/no")),
            RefusalCode::FILE_NOT_FOUND
        );
        assert_eq!(refusal_code(ground.read("d")), RefusalCode::IS_A_DIRECTORY);
        assert_eq!(refusal_code(ground.read(".")), RefusalCode::IS_A_DIRECTORY);
        assert_eq!(
            refusal_code(ground.read("f/x")),
            RefusalCode::NOT_A_DIRECTORY
        );
        assert_eq!(refusal_code(ground.list("f")), RefusalCode::NOT_A_DIRECTORY);
        assert_eq!(refusal_code(ground.list("no")), RefusalCode::FILE_NOT_FOUND);
        assert_eq!(
            refusal_code(ground.write("d", "x")),
            RefusalCode::IS_A_DIRECTORY
        );
        assert_eq!(
            refusal_code(ground.write(".", "x")),
            RefusalCode::IS_A_DIRECTORY
        );
        assert_eq!(
            refusal_code(ground.write("new/", "x")),
            RefusalCode::IS_A_DIRECTORY
        );
        assert_eq!(
            refusal_code(ground.write("f/x", "x")),
            RefusalCode::NOT_A_DIRECTORY
        );
        assert_eq!(
            refusal_code(ground.edit("no", "a", "b")),
            RefusalCode::FILE_NOT_FOUND
        );
        assert_eq!(
            refusal_code(ground.edit("d", "a", "b")),
            RefusalCode::IS_A_DIRECTORY
        );
        assert_eq!(
            refusal_code(ground.delete("no", false)),
            RefusalCode::FILE_NOT_FOUND
        );
        assert_eq!(
            refusal_code(ground.delete(".", true)),
            RefusalCode::INVALID_INPUT
        );
        assert_eq!(
            refusal_code(ground.rename("no", "x", true)),
            RefusalCode::FILE_NOT_FOUND
        );
        assert_eq!(
            refusal_code(ground.make_dir("f")),
            RefusalCode::NOT_A_DIRECTORY
        );
        let long = "x".repeat(300);
        assert_eq!(
            refusal_code(ground.write(&long, "")),
            RefusalCode::INVALID_INPUT
        );
        assert_eq!(
            ground.file_names("."),
            ["d", "f"],
            "nothing was left behind"
        );
    }
}

#[test]
fn refused_write_leaves_no_directories() {
    let ground = TestWorkspace::new();
    let ask = WriteFileParams {
        expected_hash: Some(SHA256_OF_ABC.to_owned()),
        ..write_params("a/b/c/d.txt", "x")
    };
    assert_eq!(
        refusal_code(ground.dir.write(&ask)),
        RefusalCode::FILE_NOT_FOUND
    );
    assert_eq!(ground.file_names("."), [""; 0]);
    ground.write("f", "x").unwrap();
    assert_eq!(
        refusal_code(ground.rename("f", "f/g/h", false)),
        RefusalCode::NOT_A_DIRECTORY
    );
    ground.make_dir("d").unwrap();
    assert_eq!(
        refusal_code(ground.rename("d", "d/a/b", false)),
        RefusalCode::INVALID_INPUT
    );
    assert_eq!(ground.file_names("d"), [""; 0]);
}

#[test]
fn create_only_and_expected_hash_are_enforced() {
    let ground = TestWorkspace::new();
    let create = WriteFileParams {
        create_only: true,
        ..write_params("f", "abc")
    };
    assert!(ground.dir.write(&create).unwrap().created);
    assert_eq!(
        refusal_code(ground.dir.write(&create)),
        RefusalCode::FILE_EXISTS
    );
    std::os::unix::fs::symlink("nowhere", ground.host_path("link")).unwrap();
    let at_link = WriteFileParams {
        create_only: true,
        ..write_params("link", "abc")
    };
    assert_eq!(
        refusal_code(ground.dir.write(&at_link)),
        RefusalCode::FILE_EXISTS
    );

    let expecting = |hash: &str| WriteFileParams {
        expected_hash: Some(hash.to_owned()),
        ..write_params("f", "new")
    };
    let other = "0".repeat(64);
    let refused = ground.dir.write(&expecting(&other)).unwrap_err();
    assert_eq!(refused.code, RefusalCode::HASH_MISMATCH);
    assert_eq!(
        refused.details.as_deref(),
        Some(&RefusalDetails::Hash {
            current_hash: SHA256_OF_ABC.to_owned()
        })
    );
    assert_eq!(ground.read("f").unwrap().content, "abc");
    ground
        .dir
        .write(&expecting(&SHA256_OF_ABC.to_uppercase()))
        .unwrap();
    assert_eq!(ground.read("f").unwrap().content, "new");
    assert_eq!(
        refusal_code(ground.dir.write(&expecting("abc"))),
        RefusalCode::INVALID_INPUT
    );
    let both = WriteFileParams {
        create_only: true,
        ..expecting(&other)
    };
    assert_eq!(
        refusal_code(ground.dir.write(&both)),
        RefusalCode::INVALID_INPUT
    );
}

#[test]
fn replaced_file_keeps_its_mode_without_special_bits() {
    let ground = TestWorkspace::new();
    ground.write("run.sh", "#!/bin/sh\n").unwrap();
    let set = |mode| {
        std::fs::set_permissions(
            ground.host_path("run.sh"),
            std::fs::Permissions::from_mode(mode),
        )
        .unwrap();
    };
    let mode = || ground.host_path("run.sh").metadata().unwrap().mode() & 0o7777;
    set(0o755);
    ground.write("run.sh", "#!/bin/sh\ntrue\n").unwrap();
    assert_eq!(mode(), 0o755);
    ground.edit("run.sh", "true", "false").unwrap();
    assert_eq!(mode(), 0o755);
    set(0o4711);
    ground.write("run.sh", "x").unwrap();
    assert_eq!(mode(), 0o711);
}

#[test]
fn hard_link_outside_keeps_its_content() {
    let ground = TestWorkspace::new();
    std::fs::hard_link(
        ground.outside_path("secret.txt"),
        ground.host_path("linked"),
    )
    .unwrap();
    ground.write("linked", "mine").unwrap();
    assert_eq!(ground.read("linked").unwrap().content, "mine");
    ground.check_outside_unchanged();
    std::fs::hard_link(ground.outside_path("secret.txt"), ground.host_path("again")).unwrap();
    ground.edit("again", "secret", "known").unwrap();
    ground.delete("again", false).unwrap();
    ground.check_outside_unchanged();
}

#[test]
fn symlink_inside_is_written_through() {
    for resolver in RESOLVERS {
        let ground = TestWorkspace::with_resolver(resolver);
        ground.write("d/real.txt", "abc").unwrap();
        std::os::unix::fs::symlink("d/real.txt", ground.host_path("link")).unwrap();
        std::os::unix::fs::symlink("../link", ground.host_path("d/back")).unwrap();
        std::os::unix::fs::symlink("d", ground.host_path("dirlink")).unwrap();
        assert_eq!(ground.read("d/back").unwrap().content, "abc");
        assert_eq!(ground.read("dirlink/real.txt").unwrap().content, "abc");
        ground.write("d/back", "new").unwrap();
        ground.edit("link", "new", "newer").unwrap();
        ground.write("dirlink/more.txt", "x").unwrap();
        assert_eq!(ground.read("d/real.txt").unwrap().content, "newer");
        assert!(ground.host_path("link").is_symlink() && ground.host_path("d/back").is_symlink());
        // Writing through a dangling link creates its target, inside.
        std::os::unix::fs::symlink("d/later.txt", ground.host_path("early")).unwrap();
        assert!(ground.write("early", "x").unwrap().created);
        assert_eq!(
            ground.file_names("d"),
            ["back", "later.txt", "more.txt", "real.txt"]
        );
        std::os::unix::fs::symlink("a", ground.host_path("b")).unwrap();
        std::os::unix::fs::symlink("b", ground.host_path("a")).unwrap();
        assert_eq!(refusal_code(ground.read("a")), RefusalCode::NOT_A_FILE);
        assert_eq!(
            refusal_code(ground.write("a", "x")),
            RefusalCode::NOT_A_FILE
        );
        std::os::unix::fs::symlink("d/..", ground.host_path("round")).unwrap();
        assert_eq!(
            refusal_code(ground.write("round", "x")),
            RefusalCode::IS_A_DIRECTORY
        );
        assert_eq!(ground.read("round/link").unwrap().content, "newer");
    }
}

#[test]
fn edit_replaces_one_match_and_no_other_byte() {
    let ground = TestWorkspace::new();
    std::fs::write(ground.host_path("f"), b"\xff\xfeone\r\ntwo \x80\nthree").unwrap();
    assert_eq!(ground.edit("f", "two", "2").unwrap(), 1);
    assert_eq!(
        std::fs::read(ground.host_path("f")).unwrap(),
        b"\xff\xfeone\r\n2 \x80\nthree"
    );
    ground.write("g", "aaa b b b").unwrap();
    let refused = ground.edit("g", "b", "c").unwrap_err();
    assert_eq!(refused.code, RefusalCode::TEXT_NOT_UNIQUE);
    assert!(
        rendered(&refused).message.contains("3 times"),
        "{}",
        rendered(&refused).message
    );
    assert_eq!(
        refusal_code(ground.edit("g", "aa", "c")),
        RefusalCode::TEXT_NOT_UNIQUE
    );
    assert_eq!(
        refusal_code(ground.edit("g", "x", "c")),
        RefusalCode::TEXT_NOT_FOUND
    );
    assert_eq!(
        refusal_code(ground.edit("g", "", "c")),
        RefusalCode::INVALID_INPUT
    );
    assert_eq!(ground.read("g").unwrap().content, "aaa b b b");
    let all = EditFileParams {
        replace_all: true,
        ..edit_params("g", "b", "bb")
    };
    let edited = ground.dir.edit(&all).unwrap();
    assert_eq!((edited.replaced, edited.bytes), (3, 12));
    let read = ground.read("g").unwrap();
    assert_eq!(read.content, "aaa bb bb bb");
    assert_eq!(read.hash.as_deref(), Some(edited.hash.as_str()));
    let stale = EditFileParams {
        expected_hash: Some("0".repeat(64)),
        ..edit_params("g", "aaa", "x")
    };
    assert_eq!(
        refusal_code(ground.dir.edit(&stale)),
        RefusalCode::HASH_MISMATCH
    );
    ground.write("dos", "a\r\nb\r\n").unwrap();
    let refused = ground.edit("dos", "a\nb", "c").unwrap_err();
    assert!(
        rendered(&refused).hint.contains("\\r\\n"),
        "{}",
        rendered(&refused).hint
    );
}

#[test]
fn held_file_lock_times_out() {
    let ground = TestWorkspace::new();
    ground.write("f", "x").unwrap();
    let dir = WorkspaceDir::open(&ground.host_path(""))
        .unwrap()
        .with_limits(FileLimits {
            lock_timeout: std::time::Duration::from_millis(20),
            ..FileLimits::default()
        });
    let kept = std::fs::File::open(ground.host_path("f")).unwrap();
    kept.lock().unwrap();
    for refused in [
        refusal_code(dir.write(&write_params("f", "y"))),
        refusal_code(dir.edit(&edit_params("f", "x", "y"))),
    ] {
        assert_eq!(refused, RefusalCode::FILE_BUSY);
    }
    drop(kept);
    dir.edit(&edit_params("f", "x", "y")).unwrap();
}
