### Refusals about sections of boards.

section-invalid-title = Invalid section: its name is empty or has line breaks.
    .hint = give the title of the section

section-title-markup = Invalid section: as a heading, { $title } would be parsed as { $plain }.
    .hint = give the new section a title without Markdown markup

section-content-heading = The content has a heading { $title } of level { $heading_level }, which would end the section (level { $level }).
    .hint = use deeper headings in a section, or write the whole board

section-not-found = Section { $title } not found. Sections: { $titles }.
    .hint = use the title of an existing section

section-not-found-of-many = Section { $title } not found. Sections: { $titles }, …
    .hint = use the title of an existing section

section-no-sections = Section { $title } not found. The text has no sections.
    .hint = use the title of an existing section

section-nth-not-found = Section { $title } number { $nth } not found; there are { $count }.
    .cli = use `--nth` with 1 to { $count }
    .tool = pass nth with 1 to { $count }
    .screen = reload the page: it may no longer exist

section-ambiguous = { $count } sections are named { $title }: on lines { $lines }.
    .cli = choose one with `--nth N`, from 1
    .tool = choose one with nth=N, from 1
    .screen = correct the input

section-ambiguous-many = { $count } sections are named { $title }: on lines { $lines }, ….
    .cli = choose one with `--nth N`, from 1
    .tool = choose one with nth=N, from 1
    .screen = correct the input

section-changes-parsing = The edit would change how the text around the section is parsed.
    .hint = close every code fence and HTML block, before the section and in the content, or write the whole board
