//! How styles look: the terminal's own colours, so that light and dark are as its owner set them. Without
//! colours what they say is still said by the words beside them.

use polis_view::style::{Style as Look, Styles};
use ratatui_core::style::{Color, Modifier, Style};

/// Whether there are colours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Theme {
    pub(crate) colour: bool,
}

impl Theme {
    /// Text in styles.
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

    /// Text in a colour.
    pub(crate) fn colour(self, colour: Color) -> Style {
        match self.colour {
            true => Style::new().fg(colour),
            false => Style::new(),
        }
    }

    /// What is of less interest.
    pub(crate) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The page's name.
    pub(crate) fn title(self) -> Style {
        self.colour(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// The line below the title.
    pub(crate) fn underline(self) -> Style {
        Style::new().add_modifier(Modifier::UNDERLINED)
    }

    /// The row that is selected.
    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// A line that holds what is searched for.
    pub(crate) fn found(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }
}
