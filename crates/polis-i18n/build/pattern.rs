//! Text of one message in one language: literal text, arguments, and choices by a number.
//!
//! Supported are text, string literals, `{ $argument }`, and selections by a number with plural categories or
//! exact numbers. Other constructs of Fluent (terms, references, functions, attributes) are errors, because no
//! message needs them yet.

use std::collections::BTreeSet;

use fluent_syntax::ast;
use fluent_syntax::unicode::unescape_unicode_to_string;

/// Part of a text.
#[derive(Debug, PartialEq, Eq, Clone)]
pub(crate) enum TextPiece {
    Literal(String),
    Argument(String),
    Selection {
        argument: String,
        variants: Vec<TextVariant>,
    },
}

/// One case of a selection.
#[derive(Debug, PartialEq, Eq, Clone)]
pub(crate) struct TextVariant {
    /// The numbers for which it is chosen; `None` for the default.
    pub(crate) number: Option<i64>,
    pub(crate) pieces: Vec<TextPiece>,
}

/// Converts the pattern of a message in a language. Fails with a sentence if it uses an unsupported construct.
pub(crate) fn convert_pattern(
    pattern: &ast::Pattern<&str>,
    language: &str,
) -> Result<Vec<TextPiece>, String> {
    let mut pieces: Vec<TextPiece> = Vec::new();
    for element in &pattern.elements {
        let piece = match element {
            ast::PatternElement::TextElement { value } => TextPiece::Literal((*value).to_owned()),
            ast::PatternElement::Placeable { expression } => {
                convert_expression(expression, language)?
            }
        };
        match (pieces.last_mut(), piece) {
            (Some(TextPiece::Literal(before)), TextPiece::Literal(text)) => before.push_str(&text),
            (_, piece) => pieces.push(piece),
        }
    }
    Ok(pieces)
}

fn convert_expression(
    expression: &ast::Expression<&str>,
    language: &str,
) -> Result<TextPiece, String> {
    match expression {
        ast::Expression::Inline(ast::InlineExpression::StringLiteral { value }) => Ok(
            TextPiece::Literal(unescape_unicode_to_string(value).into_owned()),
        ),
        ast::Expression::Inline(ast::InlineExpression::VariableReference { id }) => {
            Ok(TextPiece::Argument(argument_name(id.name)?))
        }
        ast::Expression::Select {
            selector: ast::InlineExpression::VariableReference { id },
            variants,
        } => Ok(TextPiece::Selection {
            argument: argument_name(id.name)?,
            variants: convert_variants(variants, language)?,
        }),
        _ => Err("uses an unsupported construct; see build/pattern.rs for those supported".into()),
    }
}

/// Converts the cases of a selection: exact numbers first, the default last, as they are tried.
fn convert_variants(
    variants: &[ast::Variant<&str>],
    language: &str,
) -> Result<Vec<TextVariant>, String> {
    let mut converted = Vec::new();
    let mut numbers = BTreeSet::new();
    for variant in variants {
        let pieces = convert_pattern(&variant.value, language)?;
        let number = match &variant.key {
            _ if variant.default => None,
            ast::VariantKey::NumberLiteral { value } => {
                Some((value.parse()).map_err(|_| format!("`[{value}]` is not a whole number"))?)
            }
            ast::VariantKey::Identifier { name } => Some(number_of_category(name, language)?),
        };
        if !numbers.insert(number) {
            return Err("has two variants for the same number".into());
        }
        converted.push(TextVariant { number, pieces });
    }
    converted.sort_by_key(|variant| variant.number.is_none());
    Ok(converted)
}

/// Returns the number of a plural category other than the default, according to Unicode CLDR. English has one
/// such category, `one`; Chinese has none.
fn number_of_category(category: &str, language: &str) -> Result<i64, String> {
    match (language, category) {
        ("en", "one") => Ok(1),
        _ => Err(format!(
            "`[{category}]` is no plural category of `{language}`"
        )),
    }
}

/// Returns the Rust name of an argument: with `_` in place of `-`.
fn argument_name(name: &str) -> Result<String, String> {
    const KEYWORDS: [&str; 15] = [
        "as", "else", "for", "in", "impl", "lang", "loop", "match", "mod", "move", "ref", "self",
        "type", "use", "where",
    ];
    if KEYWORDS.contains(&name) || name != name.to_ascii_lowercase() {
        return Err(format!("`${name}` cannot be the name of a Rust argument"));
    }
    Ok(name.replace('-', "_"))
}

/// Collects the names of the arguments of a text.
pub(crate) fn collect_arguments(pieces: &[TextPiece], found: &mut BTreeSet<String>) {
    for piece in pieces {
        match piece {
            TextPiece::Literal(_) => {}
            TextPiece::Argument(name) => {
                found.insert(name.clone());
            }
            TextPiece::Selection { argument, variants } => {
                found.insert(argument.clone());
                for variant in variants {
                    collect_arguments(&variant.pieces, found);
                }
            }
        }
    }
}

/// Collects the names of the arguments by whose number a text selects.
pub(crate) fn collect_counts(pieces: &[TextPiece], found: &mut BTreeSet<String>) {
    for piece in pieces {
        if let TextPiece::Selection { argument, variants } = piece {
            found.insert(argument.clone());
            for variant in variants {
                collect_counts(&variant.pieces, found);
            }
        }
    }
}
