//! Minifier for our own stylesheets and scripts: removes comments, indentation and insignificant spaces. Third-party
//! files are served unchanged.

/// Minifies a stylesheet: removes comments and insignificant spaces. Strings are unchanged.
pub(crate) fn sheet(text: &str) -> String {
    let mut lean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    // Quotation mark of the current string.
    let mut within: Option<char> = None;
    let mut space = false;
    while let Some(c) = rest.next() {
        if let Some(mark) = within {
            lean.push(c);
            match c {
                '\\' => lean.extend(rest.next()),
                _ if c == mark => within = None,
                _ => {}
            }
            continue;
        }
        if c == '/' && rest.peek() == Some(&'*') {
            rest.next();
            while let Some(c) = rest.next() {
                if c == '*' && rest.next_if_eq(&'/').is_some() {
                    break;
                }
            }
            space = true;
            continue;
        }
        if c.is_ascii_whitespace() {
            space = true;
            continue;
        }
        // Before `:` and `(` a space may be significant (`a :hover`, `and (`); after `:` it is not.
        let parted = lean.ends_with(['{', '}', ';', ',', ':', '>'])
            || matches!(c, '{' | '}' | ';' | ',' | '>');
        if space && !parted && !lean.is_empty() {
            lean.push(' ');
        }
        space = false;
        if c == '}' && lean.ends_with(';') {
            lean.pop();
        }
        if matches!(c, '"' | '\'') {
            within = Some(c);
        }
        lean.push(c);
    }
    lean
}

/// Minifies a script: removes indentation, empty lines and comment lines. Line breaks are kept, because a line break
/// may end a statement. None of our strings spans several lines.
pub(crate) fn script(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let kept = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
    kept.fold(String::with_capacity(text.len()), |mut lean, line| {
        lean.push_str(line);
        lean.push('\n');
        lean
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_means_what_it_meant() {
        let text = "/* a; b */\n.a  > .b :is(h1, h2),\n.c { color : red;\n  margin: 0 /* x */ auto; }\n\
                    @media (max-width: 4rem) and (color) { a::before { content: \"a  /* ; */ \\\" }\" / ''; } }\n";
        assert_eq!(
            sheet(text),
            ".a>.b :is(h1,h2),.c{color :red;margin:0 auto}\
             @media (max-width:4rem) and (color){a::before{content:\"a  /* ; */ \\\" }\" / ''}}"
        );
        assert_eq!(sheet(" /* never ended "), "");
        assert_eq!(sheet("a{b:c;}"), "a{b:c}");
    }

    #[test]
    fn a_script_keeps_its_lines_and_strings() {
        let text = "// What it does.\n(() => {\n  const a = \"// no comment\"; // why\n\n  // more\n  go();\n})();\n";
        assert_eq!(
            script(text),
            "(() => {\nconst a = \"// no comment\"; // why\ngo();\n})();\n"
        );
    }
}
