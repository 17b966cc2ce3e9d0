//! Translates the text styles of `polis-view` (bold, dim, green) to ratatui styles, and defines those of fixed
//! elements such as the title and the selected row. Colours are from the terminal's own palette, so that light
//! and dark follow its settings. Without colours only the colours are dropped: attributes such as bold remain.

use polis_view::style::{StyleSet, TextStyle};
use ratatui_core::style::{Color, Modifier, Style};

/// Styles of the terminal interface, with or without colours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TerminalTheme {
    pub(crate) colour: bool,
}

impl TerminalTheme {
    /// Returns the attributes of text in these styles.
    pub(crate) fn text_style(self, styles: StyleSet) -> Style {
        styles
            .iter()
            .fold(Style::new(), |style, attribute| match attribute {
                TextStyle::Bold => style.add_modifier(Modifier::BOLD),
                TextStyle::Dim => style.add_modifier(Modifier::DIM),
                TextStyle::Italic => style.add_modifier(Modifier::ITALIC),
                TextStyle::Underline => style.add_modifier(Modifier::UNDERLINED),
                TextStyle::Strike => style.add_modifier(Modifier::CROSSED_OUT),
                TextStyle::Green => style.patch(self.colour_style(Color::Green)),
                TextStyle::Yellow => style.patch(self.colour_style(Color::Yellow)),
                TextStyle::Red => style.patch(self.colour_style(Color::Red)),
                TextStyle::Cyan => style.patch(self.colour_style(Color::Cyan)),
            })
    }

    /// Returns the attributes of text in a colour.
    pub(crate) fn colour_style(self, colour: Color) -> Style {
        if self.colour {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    }

    /// Returns the style of secondary text.
    pub(crate) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// Returns the style of the page title.
    pub(crate) fn title(self) -> Style {
        self.colour_style(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// Returns the style of the line below the title.
    pub(crate) fn underline(self) -> Style {
        Style::new().add_modifier(Modifier::UNDERLINED)
    }

    /// Returns the style of the selected row.
    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Returns the style of a line with a search match.
    pub(crate) fn search_match(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }
}
