//! Source code of the functions of all messages, one for each.
//!
//! A text without arguments becomes a literal, one with arguments a `format!`: nothing is parsed when a program
//! runs. A selection becomes a `match` around whole texts.

use std::fmt::Write;

use crate::catalogue::{Catalogue, CatalogueMessage};
use crate::pattern::{TextPiece, TextVariant};

/// Variants of `UiLanguage`, in the order of [`crate::catalogue::LANGUAGES`].
const LANGUAGE_VARIANTS: [&str; 2] = ["En", "Zh"];

/// Returns the source code of all functions.
pub(crate) fn render_functions(catalogue: &Catalogue) -> String {
    let mut source = String::new();
    for (id, message) in &catalogue.messages {
        render_function(id, message, &mut source);
    }
    source
}

fn render_function(id: &str, message: &CatalogueMessage, source: &mut String) {
    let is_static = !message.texts.iter().any(|text| inserts_argument(text));
    let returned = if is_static { "&'static str" } else { "String" };
    let mut parameters = String::new();
    for argument in &message.arguments {
        let bound = if message.counts.contains(argument) {
            "crate::PluralCount"
        } else {
            "std::fmt::Display"
        };
        let _ = write!(parameters, ", {argument}: impl {bound}");
    }
    let _ = writeln!(source, "/// `{id}`: `{}`", describe_text(&message.texts[0]));
    let _ = writeln!(
        source,
        "pub fn {}(lang: crate::UiLanguage{parameters}) -> {returned} {{\n    match lang {{",
        id.replace('-', "_")
    );
    for (variant, text) in LANGUAGE_VARIANTS.iter().zip(&message.texts) {
        let body = render_text(text, is_static);
        let _ = writeln!(source, "        crate::UiLanguage::{variant} => {body},");
    }
    source.push_str("    }\n}\n");
}

fn inserts_argument(text: &[TextPiece]) -> bool {
    text.iter().any(|piece| match piece {
        TextPiece::Literal(_) => false,
        TextPiece::Argument(_) => true,
        TextPiece::Selection { variants, .. } => variants
            .iter()
            .any(|variant| inserts_argument(&variant.pieces)),
    })
}

/// Returns the expression of a text. The first selection becomes a `match`, with what is around it in every arm.
fn render_text(pieces: &[TextPiece], is_static: bool) -> String {
    for (index, piece) in pieces.iter().enumerate() {
        if let TextPiece::Selection { argument, variants } = piece {
            let (before, rest) = (&pieces[..index], &pieces[index + 1..]);
            let whole = |variant: &TextVariant| {
                render_text(&[before, &variant.pieces, rest].concat(), is_static)
            };
            if let [only] = variants.as_slice() {
                return whole(only);
            }
            let arms: String = variants
                .iter()
                .map(|variant| match variant.number {
                    Some(number) => format!("{number} => {}, ", whole(variant)),
                    None => format!("_ => {}, ", whole(variant)),
                })
                .collect();
            return format!("match crate::PluralCount::number(&{argument}) {{ {arms}}}");
        }
    }
    render_plain_text(pieces, is_static)
}

/// Returns the expression of a text without selections.
fn render_plain_text(pieces: &[TextPiece], is_static: bool) -> String {
    let (mut literal, mut format) = (String::new(), String::new());
    for piece in pieces {
        match piece {
            TextPiece::Literal(text) => {
                literal.push_str(text);
                format.push_str(&text.replace('{', "{{").replace('}', "}}"));
            }
            TextPiece::Argument(name) => {
                let _ = write!(format, "{{{name}}}");
            }
            TextPiece::Selection { .. } => {}
        }
    }
    match (inserts_argument(pieces), is_static) {
        (true, _) => format!("format!({format:?})"),
        (false, true) => format!("{literal:?}"),
        (false, false) => format!("{literal:?}.to_owned()"),
    }
}

/// Returns a text for the documentation of its function, on one line, with the last variant of a selection.
fn describe_text(pieces: &[TextPiece]) -> String {
    let mut text = String::new();
    push_description(pieces, &mut text);
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    one_line.replace('`', "'")
}

fn push_description(pieces: &[TextPiece], text: &mut String) {
    for piece in pieces {
        match piece {
            TextPiece::Literal(literal) => text.push_str(literal),
            TextPiece::Argument(name) => {
                let _ = write!(text, "{{{name}}}");
            }
            TextPiece::Selection { variants, .. } => {
                if let Some(last) = variants.last() {
                    push_description(&last.pieces, text);
                }
            }
        }
    }
}
