//! Tests of output capture: exact heads and tails, whole characters, bounded memory.

use proptest::prelude::*;

use super::*;

/// Captures `whole`, pushed in pieces of the given sizes and the rest in one piece.
fn capture_in_pieces(limit: usize, whole: &[u8], cuts: &[usize]) -> StreamOutput {
    let mut capture = StreamCapture::new(limit);
    let mut rest = whole;
    for cut in cuts {
        let (piece, later) = rest.split_at((*cut).min(rest.len()));
        capture.push(piece);
        rest = later;
    }
    capture.push(rest);
    capture.finish()
}

#[test]
fn capture_keeps_head_and_tail_by_table() {
    // limit, output, head, tail, omitted
    let table: &[(usize, &str, &str, &str, u64)] = &[
        (8, "", "", "", 0),
        (8, "12345678", "", "12345678", 0),
        (8, "123456789", "1234", "6789", 1),
        (8, "123\n56789", "123\n", "6789", 1),
        (7, "12345678", "1234", "678", 1),
        (1, "12", "1", "", 1),
        (0, "12", "", "", 2),
        // "é" is two bytes, "中" three, "😀" four.
        (8, "123é45678", "123", "5678", 3),
        (8, "1234é5中", "1234", "5中", 2),
        (8, "12345中78", "1234", "78", 4),
        (8, "😀😀😀", "😀", "😀", 4),
        (10, "1😀😀😀😀", "1😀", "😀", 8),
        (10, "12😀😀😀😀", "12", "😀", 12),
    ];
    for (limit, output, head, tail, omitted) in table {
        let expected = StreamOutput {
            text: format!("{head}{tail}"),
            bytes: output.len() as u64,
            omitted: *omitted,
            omitted_at: head.len(),
        };
        assert_eq!(
            capture_in_pieces(*limit, output.as_bytes(), &[]),
            expected,
            "{output} within {limit}"
        );
    }
}

#[test]
fn invalid_utf8_is_replaced() {
    assert_eq!(capture_in_pieces(8, b"a\xFFb", &[]).text, "a\u{FFFD}b");
    assert_eq!(capture_in_pieces(8, b"a\xE4\xB8", &[]).text, "a\u{FFFD}");
    let noise = capture_in_pieces(8, &[0xBF; 100], &[]);
    assert_eq!(noise.bytes, 100);
    assert_eq!(noise.omitted, 100 - 4 - 1);
    assert_eq!(capture_in_pieces(8, b"a\0b", &[]).text, "a\0b");
}

#[test]
fn long_output_stays_within_memory_limit() {
    for limit in [0, 1, 1_000, 65_537, 1 << 20] {
        let mut capture = StreamCapture::new(limit);
        let piece = vec![b'y'; 10_007];
        for _ in 0..400 {
            capture.push(&piece);
            capture.push(b"z");
            assert!(capture.head.capacity() + capture.tail.allocated_bytes() <= limit);
        }
        let output = capture.finish();
        assert_eq!(output.bytes, 400 * 10_008);
        assert_eq!(output.omitted, 400 * 10_008 - limit as u64);
    }
}

#[test]
fn short_output_creates_no_spool_file() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("spool");
    let mut output = OutputCapture::new(
        10,
        Some(SpoolDirectory {
            directory: directory.clone(),
            file_quota: 1_000,
            directory_quota: 10_000,
        }),
    );
    output.push(OutputStream::Stdout, b"0123456789");
    output.push(OutputStream::Stderr, b"abcdefghij");
    let collected = output.finish();
    assert_eq!(collected.stdout.text, "0123456789");
    assert_eq!(collected.stderr.text, "abcdefghij");
    assert_eq!(collected.spooled, None);
    assert!(!directory.exists());
}

#[test]
fn long_output_is_complete_in_spool_file() {
    let scratch = tempfile::tempdir().unwrap();
    let mut output = OutputCapture::new(
        4,
        Some(SpoolDirectory {
            directory: scratch.path().into(),
            file_quota: 1_000,
            directory_quota: 10_000,
        }),
    );
    output.push(OutputStream::Stdout, b"one ");
    output.push(OutputStream::Stderr, b"two ");
    output.push(OutputStream::Stdout, b"three ");
    output.push(OutputStream::Stderr, b"four");
    let collected = output.finish();
    let spooled = collected.spooled.unwrap();
    assert!(!spooled.is_truncated);
    assert_eq!(
        std::fs::read_to_string(scratch.path().join(&spooled.name)).unwrap(),
        "one two three four"
    );
    let stdout = collected.stdout;
    assert_eq!((stdout.text.as_str(), stdout.omitted), ("one ", 6));
    let stderr = collected.stderr;
    assert_eq!((stderr.text.as_str(), stderr.omitted), ("twur", 4));
}

#[test]
fn long_output_without_spool_is_not_written() {
    let mut output = OutputCapture::new(4, None);
    output.push(OutputStream::Stdout, b"0123456789");
    let collected = output.finish();
    let stdout = collected.stdout;
    assert_eq!((stdout.text.as_str(), stdout.omitted), ("0189", 6));
    assert_eq!(collected.spooled, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn piece_boundaries_do_not_change_the_capture(
        whole in proptest::collection::vec(any::<u8>(), 0..300),
        cuts in proptest::collection::vec(0_usize..40, 0..20),
        limit in 0_usize..200,
    ) {
        prop_assert_eq!(capture_in_pieces(limit, &whole, &cuts), capture_in_pieces(limit, &whole, &[]));
    }

    #[test]
    fn short_output_is_returned_exactly(
        whole in "\\PC{0,80}",
        cuts in proptest::collection::vec(0_usize..10, 0..20),
        more in 0_usize..10,
    ) {
        let output = capture_in_pieces(whole.len() + more, whole.as_bytes(), &cuts);
        prop_assert_eq!(output.omitted, 0);
        prop_assert_eq!(output.bytes, whole.len() as u64);
        prop_assert_eq!(output.text, whole);
    }

    #[test]
    fn head_and_tail_contain_whole_characters(
        whole in "[a-zé中😀\n]{1,200}",
        cuts in proptest::collection::vec(0_usize..40, 0..20),
        share in 0_usize..100,
    ) {
        let limit = whole.len() * share / 100;
        let output = capture_in_pieces(limit, whole.as_bytes(), &cuts);
        let (head, tail) = output.text.split_at(output.omitted_at);
        let tail_bytes = tail.len() as u64;
        prop_assert!(whole.ends_with(tail), "{tail:?}");
        prop_assert!(whole.starts_with(head), "{head:?}");
        prop_assert_eq!(head.len() as u64 + tail_bytes + output.omitted, output.bytes);
        // Apart from what does not fit, at most one character on each side is omitted.
        prop_assert!(head.len() + tail.len() <= limit);
        prop_assert!(head.len() + tail.len() + 6 >= limit);
    }
}
