//! Components that the pages of several tabs render: texts, diffs, times and events.

pub(crate) mod excerpt;
pub(crate) mod markdown;
pub(crate) mod side_by_side;
pub(crate) mod time_ago;
pub(crate) mod timeline;
