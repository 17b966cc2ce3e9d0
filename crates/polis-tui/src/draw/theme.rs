//! Maps styles to terminal attributes. Uses the terminal's own colour palette, so that light and dark follow
//! the user's settings. Without colours the same information is conveyed by the text.

use polis_view::style::{Style as Look, Styles};
use ratatui_core::style::{Color, Modifier, Style};

/// Whether colours are enabled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Theme {
    pub(crate) colour: bool,
}

impl Theme {
    /// Returns the attributes of text in these styles.
    pub(crate) fn of(self, styles: Styles) -> Style {
        styles.iter().fold(Style::new(), |style, look| match look {
            Look::Bold => style.add_modifier(Modifier::BOLD),
            Look::Dim => style.add_modifier(Modifier::DIM),
            Look::Italic => style.add_modifier(Modifier::ITALIC),
            Look::Underline => style.add_modifier(Modifier::UNDERLINED),
            Look::Strike => style.add_modifier(Modifier::CROSSED_OUT),
            Look::Green => style.patch(self.colour(Color::Green)),
            Look::Yellow => style.patch(self.colour(Color::Yellow)),
            Look::Red => style.patch(self.colour(Color::Red)),
            Look::Cyan => style.patch(self.colour(Color::Cyan)),
        })
    }

    /// Returns the attributes of text in a colour.
    pub(crate) fn colour(self, colour: Color) -> Style {
        match self.colour {
            true => Style::new().fg(colour),
            false => Style::new(),
        }
    }

    /// Secondary text.
    pub(crate) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The page title.
    pub(crate) fn title(self) -> Style {
        self.colour(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// The line below the title.
    pub(crate) fn underline(self) -> Style {
        Style::new().add_modifier(Modifier::UNDERLINED)
    }

    /// The selected row.
    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// A line with a search match.
    pub(crate) fn found(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }
}
