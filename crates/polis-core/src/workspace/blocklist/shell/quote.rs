//! Decoding of quotes that change their text: `$'…'` (ANSI-C quoting) and backquotes.

/// Decodes `$'…'` from after its opening quote. Returns the text and the rest, or `None` if it is unterminated.
pub(super) fn ansi(rest: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut rest = rest;
    loop {
        let stop = rest.find(['\'', '\\'])?;
        let (plain, special) = rest.split_at_checked(stop)?;
        text.push_str(plain);
        if let Some(after) = special.strip_prefix('\'') {
            return Some((text, after));
        }
        let (escape, after) = split_first(special.get(1..)?)?;
        rest = after;
        match escape {
            'a' => text.push('\u{7}'),
            'b' => text.push('\u{8}'),
            'e' | 'E' => text.push('\u{1B}'),
            'f' => text.push('\u{C}'),
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            'v' => text.push('\u{B}'),
            'x' => rest = number(&mut text, rest, 16, 2),
            'u' => rest = number(&mut text, rest, 16, 4),
            'U' => rest = number(&mut text, rest, 16, 8),
            '0'..='7' => rest = number(&mut text, special.get(1..)?, 8, 3),
            'c' => {
                let (control, after) = split_first(rest)?;
                text.extend(char::from_u32(u32::from(control) & 0x1F));
                rest = after;
            }
            other => {
                if !matches!(other, '\\' | '\'' | '"' | '?') {
                    text.push('\\');
                }
                text.push(other);
            }
        }
    }
}

/// Decodes a character code of at most `digits` digits. An invalid code adds nothing.
fn number<'a>(text: &mut String, rest: &'a str, radix: u32, digits: usize) -> &'a str {
    let count = rest
        .chars()
        .take(digits)
        .take_while(|digit| digit.is_digit(radix))
        .count();
    let (number, rest) = rest.split_at_checked(count).unwrap_or((rest, ""));
    let character = u32::from_str_radix(number, radix)
        .ok()
        .and_then(char::from_u32);
    text.extend(character);
    rest
}

/// Decodes the script in backquotes from after the opening one. Returns the script and the rest, or `None` if
/// it is unterminated.
pub(super) fn backquoted(rest: &str, in_double_quotes: bool) -> Option<(String, &str)> {
    let mut script = String::new();
    let mut rest = rest;
    loop {
        let stop = rest.find(['`', '\\'])?;
        let (plain, special) = rest.split_at_checked(stop)?;
        script.push_str(plain);
        if let Some(after) = special.strip_prefix('`') {
            return Some((script, after));
        }
        let (escaped, after) = split_first(special.get(1..)?)?;
        rest = after;
        if escaped == '\n' {
            continue;
        }
        if !(matches!(escaped, '`' | '\\' | '$') || in_double_quotes && escaped == '"') {
            script.push('\\');
        }
        script.push(escaped);
    }
}

fn split_first(text: &str) -> Option<(char, &str)> {
    let mut characters = text.chars();
    let first = characters.next()?;
    Some((first, characters.as_str()))
}
