//! Glob matching of paths: `*` within a component, `**` across components, `?` one character.

/// Returns whether a path matches a pattern. Linear in the path for each `**`, and never recursive.
pub(super) fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    wild(
        &pattern,
        &path,
        |p| *p == "**",
        |p, part| {
            let pattern: Vec<char> = p.chars().collect();
            let part: Vec<char> = part.chars().collect();
            wild(&pattern, &part, |c| *c == '*', |p, c| *p == '?' || p == c)
        },
    )
}

/// Matches a sequence against a pattern whose `any` elements match any number of elements.
fn wild<P, T>(
    pattern: &[P],
    text: &[T],
    any: impl Fn(&P) -> bool,
    one: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut from) = (0, 0);
    // Where to backtrack if what follows the last `any` does not match: it then matches one more element.
    let mut retry: Option<(usize, usize)> = None;
    while let Some(element) = text.get(from) {
        match pattern.get(at) {
            Some(p) if any(p) => {
                retry = Some((at + 1, from));
                at += 1;
            }
            Some(p) if one(p, element) => {
                at += 1;
                from += 1;
            }
            _ => match retry {
                Some((after, taken)) => {
                    retry = Some((after, taken + 1));
                    at = after;
                    from = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(any)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_as_people_expect() {
        let cases = [
            ("**", "tasks/1/status.md", true),
            ("tasks/**", "tasks/1/status.md", true),
            ("tasks/*", "tasks/1/status.md", false),
            ("tasks/*/status.md", "tasks/1/status.md", true),
            ("tasks/*/*.md", "tasks/1/status.md", true),
            ("gm/gm-*.md", "gm/gm-decisions.md", true),
            ("gm/gm-*.md", "gm/other.md", false),
            ("*.md", "shared/context.md", false),
            ("**/context.md", "shared/context.md", true),
            ("**/context.md", "context.md", true),
            ("shared/context.md", "shared/context.md", true),
            ("shared/c?ntext.md", "shared/context.md", true),
            ("", "a.md", false),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn many_stars_do_not_take_for_ever() {
        let pattern = "*a".repeat(60);
        assert!(!matches(&pattern, &"a".repeat(200).replace('a', "ab")));
    }
}
