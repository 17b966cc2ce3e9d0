//! Line wrapping by display width: lines break at newlines, at spaces and next to characters of two columns
//! (Chinese, emoji), with the line-breaking rules of Chinese punctuation. Words that do not fit are split if
//! requested. The lines are returned as byte ranges of the text ([`wrap_lines`]).

use std::ops::Range;

use unicode_width::UnicodeWidthChar as _;

/// Available width of a text in columns.
#[derive(Debug, Clone, Copy)]
pub struct WrapWidth {
    /// Width of the first line.
    pub first_line: usize,
    /// Width of the following lines.
    pub other_lines: usize,
    /// Whether a word that does not fit is split; otherwise it exceeds the width.
    pub split_words: bool,
}

/// Returns the lines of a text as byte ranges, without the spaces at which they were broken.
pub fn wrap_lines(text: &str, room: WrapWidth) -> WrappedLines<'_> {
    WrappedLines {
        text,
        at: 0,
        columns: room.first_line,
        room,
    }
}

/// Iterator returned by [`wrap_lines`].
#[derive(Debug)]
pub struct WrappedLines<'a> {
    text: &'a str,
    at: usize,
    columns: usize,
    room: WrapWidth,
}

impl Iterator for WrappedLines<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let line = wrap_first_line(rest, self.columns, self.room.split_words);
        let start = self.at;
        self.at += line.next;
        self.columns = self.room.other_lines;
        Some(start + line.start..start + line.end)
    }
}

/// A line of a text, and the offset of the next one.
struct WrappedLine {
    start: usize,
    end: usize,
    next: usize,
}

/// Returns the first line of a text. Reads no further than the first character that does not fit, so all
/// lines together read each character at most twice.
fn wrap_first_line(text: &str, room: usize, cut_words: bool) -> WrappedLine {
    let mut start = 0;
    let mut columns = 0;
    let mut before: Option<char> = None;
    let mut blank: Option<usize> = None;
    let mut last_break: Option<(usize, usize)> = None;
    for (at, c) in text.char_indices() {
        if c == '\n' {
            let end = blank.unwrap_or(at);
            return WrappedLine {
                start,
                end,
                next: at + 1,
            };
        }
        let added = added_columns(before.unwrap_or(' '), c);
        if is_blank(c) {
            if before.is_none() {
                start = at + c.len_utf8();
            } else {
                blank.get_or_insert(at);
                columns += added;
            }
            continue;
        }
        let full = columns + added > room;
        let cut = full && cut_words && last_break.is_none() && c.width() > Some(0);
        match (blank.take(), before) {
            (Some(end), _) => last_break = Some((end, at)),
            (None, Some(before)) if cut || may_break_between(before, c) => {
                last_break = Some((at, at));
            }
            _ => {}
        }
        if full && let Some((end, next)) = last_break {
            return WrappedLine { start, end, next };
        }
        columns += added;
        before = Some(c);
    }
    let end = blank.unwrap_or(text.len());
    WrappedLine {
        start,
        end,
        next: text.len(),
    }
}

/// Returns the number of columns that a character adds to the line after `before`.
fn added_columns(before: char, c: char) -> usize {
    // The emoji variation selector makes the preceding character wide.
    let emoji = c == '\u{fe0f}' && before.width() == Some(1);
    usize::from(emoji) + c.width().unwrap_or(0)
}

/// Returns whether the character is a space at which a line may break and which is then dropped; not a
/// no-break space.
fn is_blank(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}')
}

/// Returns whether the character takes two columns, as Chinese characters do.
pub fn is_wide(c: char) -> bool {
    c.width() == Some(2)
}

/// Returns whether a line may break between two characters without a space.
fn may_break_between(before: char, after: char) -> bool {
    (is_wide(before) || is_wide(after))
        && !cannot_end_line(before)
        && !cannot_start_line(after)
        && !is_ambiguous_quote(before)
        && !is_ambiguous_quote(after)
}

/// Returns whether the character may be an opening or a closing mark, which its neighbours do not reveal.
fn is_ambiguous_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '~')
}

/// Returns whether a line must not start with the character: closing punctuation, and marks that belong to
/// the preceding character.
fn cannot_start_line(c: char) -> bool {
    c.width() == Some(0)
        || matches!(c, '\u{1f3fb}'..='\u{1f3ff}')
        || "，。、；：？！）】》」』〉〕］｝’”…—～·％℃ー々,.;:?!)]}%/".contains(c)
}

/// Returns whether a line must not end with the character: opening punctuation, and joiners.
fn cannot_end_line(c: char) -> bool {
    c == '\u{200d}' || "（【《「『〈〔［｛‘“￥([{#@$".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrap_text(text: &str, width: usize, cut_words: bool) -> Vec<&str> {
        let room = WrapWidth {
            first_line: width,
            other_lines: width,
            split_words: cut_words,
        };
        wrap_lines(text, room).map(|line| &text[line]).collect()
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(
            wrap_text("the shared ground  of a team", 10, false),
            ["the shared", "ground  of", "a team"]
        );
        assert_eq!(
            wrap_text("a  unbreakable-word b", 6, false),
            ["a", "unbreakable-word", "b"]
        );
        assert_eq!(wrap_text("a \n b", 6, false), ["a", "b"]);
        assert_eq!(wrap_text("a\u{a0}b c", 2, false), ["a\u{a0}b", "c"]);
        assert!(wrap_text("", 6, false).is_empty());
    }

    #[test]
    fn chinese_breaks_anywhere_except_at_punctuation() {
        assert_eq!(wrap_text("一二三四五", 6, false), ["一二三", "四五"]);
        assert_eq!(
            wrap_text("一二三，四五", 6, false),
            ["一二", "三，四", "五"]
        );
        assert_eq!(
            wrap_text("一二（三）四", 6, false),
            ["一二", "（三）", "四"]
        );
        assert_eq!(wrap_text("一二“三”", 5, false), ["一二", "“三”"]);
        assert_eq!(wrap_text("一~~二~~", 6, false), ["一~~二~~"]);
        assert_eq!(wrap_text("一two三", 4, false), ["一", "two", "三"]);
        for c in "，。、；：？！）】》".chars() {
            assert_eq!(
                wrap_text(&format!("一二{c}"), 4, false),
                ["一", &format!("二{c}")]
            );
        }
    }

    #[test]
    fn long_words_are_split_if_allowed() {
        assert_eq!(wrap_text("abcdefg h", 3, true), ["abc", "def", "g h"]);
        assert_eq!(wrap_text("，，，", 2, true), ["，", "，", "，"]);
    }

    #[test]
    fn joined_characters_stay_together() {
        assert_eq!(
            wrap_text("e\u{301}e\u{301}", 1, true),
            ["e\u{301}", "e\u{301}"]
        );
        assert_eq!(
            wrap_text("👩\u{200d}👧好", 4, false),
            ["👩\u{200d}👧", "好"]
        );
        assert_eq!(wrap_text("👍\u{1f3fd}好", 4, false), ["👍\u{1f3fd}", "好"]);
        assert_eq!(wrap_text("❤\u{fe0f} b", 3, false), ["❤\u{fe0f}", "b"]);
    }
}
