//! Refusals about sections of boards: invalid titles or contents, sections that are not found or ambiguous.

crate::refusal_table! {
    /// Refusals about sections of boards.
    pub enum SectionRefusal {
        InvalidTitle = "section-invalid-title", INVALID_SECTION;
        TitleMarkup = "section-title-markup", INVALID_SECTION { title: String, plain: String };
        ContentHeading = "section-content-heading", INVALID_SECTION {
            title: String, heading_level: u8, level: u8,
        };
        NotFound = "section-not-found", SECTION_NOT_FOUND { title: String, titles: Vec<String> };
        NotFoundOfMany = "section-not-found-of-many", SECTION_NOT_FOUND {
            title: String, titles: Vec<String>,
        };
        NoSections = "section-no-sections", SECTION_NOT_FOUND { title: String };
        NthNotFound = "section-nth-not-found", SECTION_NOT_FOUND {
            title: String, nth: usize, count: usize,
        };
        Ambiguous = "section-ambiguous", AMBIGUOUS_SECTION {
            count: usize, title: String, lines: Vec<String>,
        };
        AmbiguousMany = "section-ambiguous-many", AMBIGUOUS_SECTION {
            count: usize, title: String, lines: Vec<String>,
        };
        ChangesParsing = "section-changes-parsing", INVALID_SECTION;
    }
}
