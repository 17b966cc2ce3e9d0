//! Our own sheets and scripts without what only their writers need: comments, indentation, and spaces that
//! mean nothing. What others wrote is sent as it came.

/// A sheet: without comments, and without spaces that separate nothing. Strings stay as they are.
pub(crate) fn sheet(text: &str) -> String {
    let mut lean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    // The quotation mark of the string it is in.
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
        // Before `:` and `(` a space may mean something (`a :hover`, `and (`), behind `:` it does not.
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

/// A script: without indentation, empty lines, and lines that are comments. Lines stay lines, so what ends
/// with one still does; and no string of ours goes over several.
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
