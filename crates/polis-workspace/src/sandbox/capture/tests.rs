//! What is kept of output: exact beginnings and ends, whole characters, bounded memory.

use proptest::prelude::*;

use super::*;

/// Everything pushed in pieces of the given sizes, over and over; the rest in one piece.
fn captured(limit: usize, whole: &[u8], cuts: &[usize]) -> Captured {
    let mut capture = Capture::new(limit);
    let mut rest = whole;
    for cut in cuts {
        let (piece, later) = rest.split_at((*cut).min(rest.len()));
        capture.push(piece);
        rest = later;
    }
    capture.push(rest);
    capture.finish(None)
}

fn spooled(cut: bool) -> Spooled {
    Spooled {
        name: "output-1-2.txt".into(),
        bytes: 67_108_864,
        cut,
    }
}

#[test]
fn output_by_table() {
    // limit, output, text, omitted
    let table: &[(usize, &str, &str, u64)] = &[
        (8, "", "", 0),
        (8, "12345678", "12345678", 0),
        (8, "123456789", "1234\n… 1 byte left out …\n6789", 1),
        (8, "123\n56789", "123\n… 1 byte left out …\n6789", 1),
        (7, "12345678", "1234\n… 1 byte left out …\n678", 1),
        (1, "12", "1\n… 1 byte left out …\n", 1),
        (0, "12", "… 2 bytes left out …\n", 2),
        // "é" is two bytes, "中" three, "😀" four.
        (8, "123é45678", "123\n… 3 bytes left out …\n5678", 3),
        (8, "1234é5中", "1234\n… 2 bytes left out …\n5中", 2),
        (8, "12345中78", "1234\n… 4 bytes left out …\n78", 4),
        (8, "😀😀😀", "😀\n… 4 bytes left out …\n😀", 4),
        (10, "1😀😀😀😀", "1😀\n… 8 bytes left out …\n😀", 8),
        (10, "12😀😀😀😀", "12\n… 12 bytes left out …\n😀", 12),
    ];
    for (limit, output, text, omitted) in table {
        let expected = Captured {
            text: (*text).into(),
            bytes: output.len() as u64,
            omitted: *omitted,
        };
        assert_eq!(
            captured(*limit, output.as_bytes(), &[]),
            expected,
            "{output} within {limit}"
        );
    }
}

#[test]
fn the_seam_names_the_file() {
    let long = |spooled: Option<&Spooled>| {
        let mut capture = Capture::new(4);
        capture.push(&vec![b'x'; 12_349]);
        capture.finish(spooled).text
    };
    assert_eq!(long(None), "xx\n… 12,345 bytes left out …\nxx");
    assert_eq!(
        long(Some(&spooled(false))),
        "xx\n… 12,345 bytes left out; the whole output is in $POLIS_OUTPUT/output-1-2.txt, for the next command …\nxx"
    );
    assert_eq!(
        long(Some(&spooled(true))),
        "xx\n… 12,345 bytes left out; the first 67,108,864 bytes of the output are in \
         $POLIS_OUTPUT/output-1-2.txt, for the next command …\nxx"
    );
    let mut short = Capture::new(4);
    short.push(b"xx");
    assert_eq!(short.finish(Some(&spooled(false))).text, "xx");
}

#[test]
fn bytes_that_are_not_text_are_replaced() {
    assert_eq!(captured(8, b"a\xFFb", &[]).text, "a\u{FFFD}b");
    assert_eq!(captured(8, b"a\xE4\xB8", &[]).text, "a\u{FFFD}");
    let noise = captured(8, &[0xBF; 100], &[]);
    assert_eq!(noise.bytes, 100);
    assert_eq!(noise.omitted, 100 - 4 - 1);
    assert_eq!(captured(8, b"a\0b", &[]).text, "a\0b");
}

#[test]
fn numbers_are_grouped() {
    for (number, text) in [
        (0, "0"),
        (999, "999"),
        (1_000, "1,000"),
        (12_345, "12,345"),
        (1_234_567, "1,234,567"),
        (u64::MAX, "18,446,744,073,709,551,615"),
    ] {
        assert_eq!(thousands(number), text);
    }
}

#[test]
fn a_flood_takes_no_more_memory_than_the_limit() {
    for limit in [0, 1, 1_000, 65_537, 1 << 20] {
        let mut capture = Capture::new(limit);
        let piece = vec![b'y'; 10_007];
        for _ in 0..400 {
            capture.push(&piece);
            capture.push(b"z");
            assert!(capture.head.capacity() + capture.tail.bytes.capacity() <= limit);
        }
        let kept = capture.finish(None);
        assert_eq!(kept.bytes, 400 * 10_008);
        assert_eq!(kept.omitted, 400 * 10_008 - limit as u64);
    }
}

#[test]
fn short_output_makes_no_file() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("spool");
    let mut output = Output::new(
        10,
        Some(SpoolPlace {
            directory: directory.clone(),
            file_quota: 1_000,
            directory_quota: 10_000,
        }),
    );
    output.push(Stream::Stdout, b"0123456789");
    output.push(Stream::Stderr, b"abcdefghij");
    let collected = output.finish();
    assert_eq!(collected.stdout.text, "0123456789");
    assert_eq!(collected.stderr.text, "abcdefghij");
    assert_eq!(collected.spooled, None);
    assert!(!directory.exists());
}

#[test]
fn long_output_is_whole_in_the_file_as_it_came() {
    let scratch = tempfile::tempdir().unwrap();
    let mut output = Output::new(
        4,
        Some(SpoolPlace {
            directory: scratch.path().into(),
            file_quota: 1_000,
            directory_quota: 10_000,
        }),
    );
    output.push(Stream::Stdout, b"one ");
    output.push(Stream::Stderr, b"two ");
    output.push(Stream::Stdout, b"three ");
    output.push(Stream::Stderr, b"four");
    let collected = output.finish();
    let spooled = collected.spooled.unwrap();
    assert!(!spooled.cut);
    assert_eq!(
        std::fs::read_to_string(scratch.path().join(&spooled.name)).unwrap(),
        "one two three four"
    );
    assert_eq!(
        collected.stdout.text,
        format!(
            "on\n… 6 bytes left out; the whole output is in $POLIS_OUTPUT/{}, for the next command …\ne ",
            spooled.name
        )
    );
    assert!(collected.stderr.text.contains("4 bytes left out"));
}

#[test]
fn without_a_place_nothing_is_written() {
    let mut output = Output::new(4, None);
    output.push(Stream::Stdout, b"0123456789");
    let collected = output.finish();
    assert_eq!(collected.stdout.text, "01\n… 6 bytes left out …\n89");
    assert_eq!(collected.spooled, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn how_it_is_cut_does_not_matter(
        whole in proptest::collection::vec(any::<u8>(), 0..300),
        cuts in proptest::collection::vec(0_usize..40, 0..20),
        limit in 0_usize..200,
    ) {
        prop_assert_eq!(captured(limit, &whole, &cuts), captured(limit, &whole, &[]));
    }

    #[test]
    fn short_output_comes_back_exactly(
        whole in "\\PC{0,80}",
        cuts in proptest::collection::vec(0_usize..10, 0..20),
        more in 0_usize..10,
    ) {
        let kept = captured(whole.len() + more, whole.as_bytes(), &cuts);
        prop_assert_eq!(kept.omitted, 0);
        prop_assert_eq!(kept.bytes, whole.len() as u64);
        prop_assert_eq!(kept.text, whole);
    }

    #[test]
    fn head_and_tail_are_whole_characters_of_the_beginning_and_the_end(
        whole in "[a-zé中😀\n]{1,200}",
        cuts in proptest::collection::vec(0_usize..40, 0..20),
        share in 0_usize..100,
    ) {
        let limit = whole.len() * share / 100;
        let kept = captured(limit, whole.as_bytes(), &cuts);
        let seam = seam(kept.omitted, None);
        let (head, tail) = kept.text.split_once(&seam).unwrap();
        let tail_bytes = tail.len() as u64;
        prop_assert!(whole.ends_with(tail), "{tail:?}");
        // The head may have got a line end of the seam.
        let head = if whole.starts_with(head)
            && head.len() as u64 + tail_bytes + kept.omitted == kept.bytes
        {
            head
        } else {
            head.strip_suffix('\n').unwrap()
        };
        prop_assert!(whole.starts_with(head), "{head:?}");
        prop_assert_eq!(head.len() as u64 + tail_bytes + kept.omitted, kept.bytes);
        // At most one character of each side is left out beside what does not fit.
        prop_assert!(head.len() + tail.len() <= limit);
        prop_assert!(head.len() + tail.len() + 6 >= limit);
    }
}
