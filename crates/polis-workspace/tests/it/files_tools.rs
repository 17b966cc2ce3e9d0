//! What each tool does, and what it refuses.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use polis_core::workspace::file::{EditFile, Encoding, FileContent, ReadFile, WriteFile};
use polis_core::{Code, Details};
use polis_workspace::files::{FileLimits, WorkspaceDir};

use crate::ground::{Ground, RESOLVERS, code, edit, limits, write};

const HASH_OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

#[test]
fn a_file_is_written_and_read() {
    for resolver in RESOLVERS {
        let ground = Ground::with(resolver);
        let written = ground.write("a/b/c.txt", "abc").unwrap();
        assert!(written.ok && written.created);
        assert_eq!(written.bytes, 3);
        assert_eq!(written.hash, HASH_OF_ABC);
        let read = ground.read("./a//b/c.txt").unwrap();
        assert_eq!(read.content, "abc");
        assert_eq!(read.size, 3);
        assert_eq!(read.hash.as_deref(), Some(HASH_OF_ABC));
        assert!(!read.truncated && read.encoding.is_none() && read.total_lines.is_none());
        assert!(!ground.write("a/b/c.txt", "").unwrap().created);
        assert_eq!(ground.read("a/b/c.txt").unwrap().content, "");
        assert_eq!(ground.names("a/b"), ["c.txt"]);
    }
}

#[test]
fn a_file_that_is_not_text_is_read_in_base64() {
    let ground = Ground::new();
    let bytes = [0xff, 0x00, 0xfe, 0x80];
    let ask = WriteFile {
        encoding: Encoding::Base64,
        ..write("x.bin", &STANDARD.encode(bytes))
    };
    assert_eq!(ground.dir.write(&ask).unwrap().bytes, 4);
    assert_eq!(std::fs::read(ground.at("x.bin")).unwrap(), bytes);
    let refused = ground.read("x.bin").unwrap_err();
    assert_eq!(refused.code, Code::NotText);
    assert!(refused.hint.contains("base64"));
    let read = ground
        .dir
        .read(&ReadFile {
            path: "x.bin".to_owned(),
            encoding: Encoding::Base64,
            ..ReadFile::default()
        })
        .unwrap();
    assert_eq!(STANDARD.decode(read.content).unwrap(), bytes);
    assert_eq!(read.encoding, Some(Encoding::Base64));
    let broken = WriteFile {
        encoding: Encoding::Base64,
        ..write("x.bin", "not base64!")
    };
    assert_eq!(code(ground.dir.write(&broken)), Code::InvalidInput);
}

fn lines(ground: &Ground, first: Option<u64>, last: Option<u64>) -> FileContent {
    ground
        .dir
        .read(&ReadFile {
            path: "f".to_owned(),
            start_line: first,
            end_line: last,
            ..ReadFile::default()
        })
        .unwrap()
}

#[test]
fn lines_are_read_with_their_ends() {
    let ground = Ground::new();
    ground.write("f", "one\ntwo\r\nthree\nfour").unwrap();
    let some = lines(&ground, Some(2), Some(3));
    assert_eq!(some.content, "two\r\nthree\n");
    assert_eq!(
        (some.start_line, some.end_line, some.total_lines),
        (Some(2), Some(3), Some(4))
    );
    assert_eq!(some.hash, None);
    assert_eq!(lines(&ground, None, Some(1)).content, "one\n");
    let rest = lines(&ground, Some(4), None);
    assert_eq!((rest.content.as_str(), rest.end_line), ("four", Some(4)));
    let past = lines(&ground, Some(9), Some(10));
    assert_eq!(
        (past.content.as_str(), past.end_line, past.total_lines),
        ("", None, Some(4))
    );
    ground.write("f", "one\ntwo\n").unwrap();
    assert_eq!(lines(&ground, Some(1), None).total_lines, Some(2));
    ground.write("f", "").unwrap();
    assert_eq!(lines(&ground, Some(1), None).total_lines, Some(0));
    ground.write("f", "\n\n").unwrap();
    assert_eq!(lines(&ground, Some(2), Some(2)).content, "\n");
    for (first, last) in [(Some(0), None), (Some(3), Some(2)), (None, Some(0))] {
        let ask = ReadFile {
            path: "f".to_owned(),
            start_line: first,
            end_line: last,
            ..ReadFile::default()
        };
        assert_eq!(code(ground.dir.read(&ask)), Code::InvalidInput);
    }
}

#[test]
fn a_large_file_is_read_in_parts() {
    let ground = Ground::new();
    let small = ground.dir.with_limits(FileLimits {
        max_read: 1_000,
        ..limits()
    });
    let path = "f".to_owned();
    let text: String = (1..=1_000).map(|n| format!("line {n} é\n")).collect();
    small.write(&write("f", &text)).unwrap();
    let ask = ReadFile {
        path,
        ..ReadFile::default()
    };
    let refused = small.read(&ask).unwrap_err();
    assert_eq!(refused.code, Code::FileTooLarge);
    assert!(refused.hint.contains("startLine"));

    let part = small
        .read(&ReadFile {
            start_line: Some(900),
            end_line: Some(902),
            ..ask.clone()
        })
        .unwrap();
    assert_eq!(part.content, "line 900 é\nline 901 é\nline 902 é\n");
    assert_eq!(part.total_lines, None, "the end was not looked for");
    assert_eq!(part.size, text.len() as u64);

    // Each character may be cut; the text never is within one.
    for most in 0..40 {
        let cut = small
            .read(&ReadFile {
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
        .read(&ReadFile {
            start_line: Some(1),
            max_bytes: Some(20),
            ..ask.clone()
        })
        .unwrap();
    assert_eq!(capped.content, "line 1 é\nline 2 é\n");
    assert!(capped.truncated);
    assert_eq!(capped.end_line, Some(2));
    let all = small
        .read(&ReadFile {
            start_line: Some(1),
            ..ask
        })
        .unwrap();
    assert!(all.truncated && all.content.len() <= 1_000);
}

#[test]
fn what_is_not_there_is_told() {
    for resolver in RESOLVERS {
        let ground = Ground::with(resolver);
        ground.write("f", "x").unwrap();
        std::fs::create_dir(ground.at("d")).unwrap();
        assert_eq!(code(ground.read("no")), Code::FileNotFound);
        assert_eq!(code(ground.read("no/no")), Code::FileNotFound);
        assert_eq!(code(ground.read("d")), Code::IsADirectory);
        assert_eq!(code(ground.read(".")), Code::IsADirectory);
        assert_eq!(code(ground.read("f/x")), Code::NotADirectory);
        assert_eq!(code(ground.list("f")), Code::NotADirectory);
        assert_eq!(code(ground.list("no")), Code::FileNotFound);
        assert_eq!(code(ground.write("d", "x")), Code::IsADirectory);
        assert_eq!(code(ground.write(".", "x")), Code::IsADirectory);
        assert_eq!(code(ground.write("new/", "x")), Code::IsADirectory);
        assert_eq!(code(ground.write("f/x", "x")), Code::NotADirectory);
        assert_eq!(code(ground.edit("no", "a", "b")), Code::FileNotFound);
        assert_eq!(code(ground.edit("d", "a", "b")), Code::IsADirectory);
        assert_eq!(code(ground.delete("no", false)), Code::FileNotFound);
        assert_eq!(code(ground.delete(".", true)), Code::InvalidInput);
        assert_eq!(code(ground.rename("no", "x", true)), Code::FileNotFound);
        assert_eq!(code(ground.make_dir("f")), Code::NotADirectory);
        let long = "x".repeat(300);
        assert_eq!(code(ground.write(&long, "")), Code::InvalidInput);
        assert_eq!(ground.names("."), ["d", "f"], "nothing was left behind");
    }
}

#[test]
fn a_refused_write_leaves_no_directories() {
    let ground = Ground::new();
    let ask = WriteFile {
        expected_hash: Some(HASH_OF_ABC.to_owned()),
        ..write("a/b/c/d.txt", "x")
    };
    assert_eq!(code(ground.dir.write(&ask)), Code::FileNotFound);
    assert_eq!(ground.names("."), [""; 0]);
    ground.write("f", "x").unwrap();
    assert_eq!(
        code(ground.rename("f", "f/g/h", false)),
        Code::NotADirectory
    );
    ground.make_dir("d").unwrap();
    assert_eq!(code(ground.rename("d", "d/a/b", false)), Code::InvalidInput);
    assert_eq!(ground.names("d"), [""; 0]);
}

#[test]
fn a_file_is_only_created_or_only_replaced_as_read() {
    let ground = Ground::new();
    let create = WriteFile {
        create_only: true,
        ..write("f", "abc")
    };
    assert!(ground.dir.write(&create).unwrap().created);
    assert_eq!(code(ground.dir.write(&create)), Code::FileExists);
    std::os::unix::fs::symlink("nowhere", ground.at("link")).unwrap();
    let at_link = WriteFile {
        create_only: true,
        ..write("link", "abc")
    };
    assert_eq!(code(ground.dir.write(&at_link)), Code::FileExists);

    let expecting = |hash: &str| WriteFile {
        expected_hash: Some(hash.to_owned()),
        ..write("f", "new")
    };
    let other = "0".repeat(64);
    let refused = ground.dir.write(&expecting(&other)).unwrap_err();
    assert_eq!(refused.code, Code::HashMismatch);
    assert_eq!(
        refused.details.as_deref(),
        Some(&Details::Hash {
            current_hash: HASH_OF_ABC.to_owned()
        })
    );
    assert_eq!(ground.read("f").unwrap().content, "abc");
    ground
        .dir
        .write(&expecting(&HASH_OF_ABC.to_uppercase()))
        .unwrap();
    assert_eq!(ground.read("f").unwrap().content, "new");
    assert_eq!(
        code(ground.dir.write(&expecting("abc"))),
        Code::InvalidInput
    );
    let both = WriteFile {
        create_only: true,
        ..expecting(&other)
    };
    assert_eq!(code(ground.dir.write(&both)), Code::InvalidInput);
}

#[test]
fn a_replaced_file_keeps_its_permissions_but_no_special_ones() {
    let ground = Ground::new();
    ground.write("run.sh", "#!/bin/sh\n").unwrap();
    let set = |mode| {
        std::fs::set_permissions(ground.at("run.sh"), std::fs::Permissions::from_mode(mode))
            .unwrap();
    };
    let mode = || ground.at("run.sh").metadata().unwrap().mode() & 0o7777;
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
fn a_hard_link_outside_keeps_its_content() {
    let ground = Ground::new();
    std::fs::hard_link(ground.outside("secret.txt"), ground.at("linked")).unwrap();
    ground.write("linked", "mine").unwrap();
    assert_eq!(ground.read("linked").unwrap().content, "mine");
    ground.check_outside();
    std::fs::hard_link(ground.outside("secret.txt"), ground.at("again")).unwrap();
    ground.edit("again", "secret", "known").unwrap();
    ground.delete("again", false).unwrap();
    ground.check_outside();
}

#[test]
fn a_link_inside_is_written_through() {
    for resolver in RESOLVERS {
        let ground = Ground::with(resolver);
        ground.write("d/real.txt", "abc").unwrap();
        std::os::unix::fs::symlink("d/real.txt", ground.at("link")).unwrap();
        std::os::unix::fs::symlink("../link", ground.at("d/back")).unwrap();
        std::os::unix::fs::symlink("d", ground.at("dirlink")).unwrap();
        assert_eq!(ground.read("d/back").unwrap().content, "abc");
        assert_eq!(ground.read("dirlink/real.txt").unwrap().content, "abc");
        ground.write("d/back", "new").unwrap();
        ground.edit("link", "new", "newer").unwrap();
        ground.write("dirlink/more.txt", "x").unwrap();
        assert_eq!(ground.read("d/real.txt").unwrap().content, "newer");
        assert!(ground.at("link").is_symlink() && ground.at("d/back").is_symlink());
        // One that leads nowhere yet makes the file there, inside.
        std::os::unix::fs::symlink("d/later.txt", ground.at("early")).unwrap();
        assert!(ground.write("early", "x").unwrap().created);
        assert_eq!(
            ground.names("d"),
            ["back", "later.txt", "more.txt", "real.txt"]
        );
        std::os::unix::fs::symlink("a", ground.at("b")).unwrap();
        std::os::unix::fs::symlink("b", ground.at("a")).unwrap();
        assert_eq!(code(ground.read("a")), Code::NotAFile);
        assert_eq!(code(ground.write("a", "x")), Code::NotAFile);
        std::os::unix::fs::symlink("d/..", ground.at("round")).unwrap();
        assert_eq!(code(ground.write("round", "x")), Code::IsADirectory);
        assert_eq!(ground.read("round/link").unwrap().content, "newer");
    }
}

#[test]
fn an_edit_changes_one_place_and_no_other_byte() {
    let ground = Ground::new();
    std::fs::write(ground.at("f"), b"\xff\xfeone\r\ntwo \x80\nthree").unwrap();
    assert_eq!(ground.edit("f", "two", "2").unwrap(), 1);
    assert_eq!(
        std::fs::read(ground.at("f")).unwrap(),
        b"\xff\xfeone\r\n2 \x80\nthree"
    );
    ground.write("g", "aaa b b b").unwrap();
    let refused = ground.edit("g", "b", "c").unwrap_err();
    assert_eq!(refused.code, Code::TextNotUnique);
    assert!(refused.message.contains("3 times"), "{}", refused.message);
    assert_eq!(code(ground.edit("g", "aa", "c")), Code::TextNotUnique);
    assert_eq!(code(ground.edit("g", "x", "c")), Code::TextNotFound);
    assert_eq!(code(ground.edit("g", "", "c")), Code::InvalidInput);
    assert_eq!(ground.read("g").unwrap().content, "aaa b b b");
    let all = EditFile {
        replace_all: true,
        ..edit("g", "b", "bb")
    };
    let edited = ground.dir.edit(&all).unwrap();
    assert_eq!((edited.replaced, edited.bytes), (3, 12));
    let read = ground.read("g").unwrap();
    assert_eq!(read.content, "aaa bb bb bb");
    assert_eq!(read.hash.as_deref(), Some(edited.hash.as_str()));
    let stale = EditFile {
        expected_hash: Some("0".repeat(64)),
        ..edit("g", "aaa", "x")
    };
    assert_eq!(code(ground.dir.edit(&stale)), Code::HashMismatch);
    ground.write("dos", "a\r\nb\r\n").unwrap();
    let refused = ground.edit("dos", "a\nb", "c").unwrap_err();
    assert!(refused.hint.contains("\\r\\n"), "{}", refused.hint);
}

#[test]
fn a_lock_that_is_kept_is_not_waited_for_for_ever() {
    let ground = Ground::new();
    ground.write("f", "x").unwrap();
    let dir = WorkspaceDir::open(&ground.at(""))
        .unwrap()
        .with_limits(FileLimits {
            lock_wait: std::time::Duration::from_millis(20),
            ..FileLimits::default()
        });
    let kept = std::fs::File::open(ground.at("f")).unwrap();
    kept.lock().unwrap();
    for refused in [
        code(dir.write(&write("f", "y"))),
        code(dir.edit(&edit("f", "x", "y"))),
    ] {
        assert_eq!(refused, Code::FileBusy);
    }
    drop(kept);
    dir.edit(&edit("f", "x", "y")).unwrap();
}
