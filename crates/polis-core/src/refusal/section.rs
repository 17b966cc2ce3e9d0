//! Refusals about sections of boards: invalid titles or contents, sections that are not found or ambiguous.

crate::refusal_table! {
    /// Refusals about sections of boards.
    pub enum SectionRefusal {
        InvalidTitle = "section-invalid-title", InvalidSection;
        TitleMarkup = "section-title-markup", InvalidSection { title: String, plain: String };
        ContentHeading = "section-content-heading", InvalidSection {
            title: String, heading_level: u8, level: u8,
        };
        NotFound = "section-not-found", SectionNotFound { title: String, titles: Vec<String> };
        NotFoundOfMany = "section-not-found-of-many", SectionNotFound {
            title: String, titles: Vec<String>,
        };
        NoSections = "section-no-sections", SectionNotFound { title: String };
        NthNotFound = "section-nth-not-found", SectionNotFound {
            title: String, nth: usize, count: usize,
        };
        Ambiguous = "section-ambiguous", AmbiguousSection {
            count: usize, title: String, lines: Vec<String>,
        };
        AmbiguousMany = "section-ambiguous-many", AmbiguousSection {
            count: usize, title: String, lines: Vec<String>,
        };
        ChangesParsing = "section-changes-parsing", InvalidSection;
    }
}
