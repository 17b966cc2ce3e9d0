section-invalid-title = 章节无效：名称为空或含有换行。
    .hint = 请给出章节的标题

section-title-markup = 章节无效：作为标题，{ $title } 会被解析为 { $plain }。
    .hint = 请给新章节一个不含 Markdown 标记的标题

section-content-heading = 内容含有 { $heading_level } 级标题 { $title }，会结束该章节（{ $level } 级）。
    .hint = 章节内请使用更深的标题，或写入整个白板

section-not-found = 没有章节 { $title }。现有章节：{ $titles }。
    .hint = 请使用现有章节的标题

section-not-found-of-many = 没有章节 { $title }。现有章节：{ $titles }……
    .hint = 请使用现有章节的标题

section-no-sections = 没有章节 { $title }。文本中没有章节。
    .hint = 请使用现有章节的标题

section-nth-not-found = 没有第 { $nth } 个章节 { $title }；共有 { $count } 个。
    .cli = `--nth` 请取 1 到 { $count }
    .tool = nth 请取 1 到 { $count }
    .screen = 请刷新页面：它可能已不存在

section-ambiguous = 有 { $count } 个章节名为 { $title }：位于第 { $lines } 行。
    .cli = 用 `--nth N` 选择其一，从 1 开始
    .tool = 用 nth=N 选择其一，从 1 开始
    .screen = 请更正输入的内容

section-ambiguous-many = 有 { $count } 个章节名为 { $title }：位于第 { $lines }……行。
    .cli = 用 `--nth N` 选择其一，从 1 开始
    .tool = 用 nth=N 选择其一，从 1 开始
    .screen = 请更正输入的内容

section-changes-parsing = 此修改会改变章节前后文本的解析结果。
    .hint = 请闭合章节之前和内容中的所有代码围栏与 HTML 块，或写入整个白板
