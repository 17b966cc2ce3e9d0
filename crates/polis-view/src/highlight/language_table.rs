//! Table of the programming and markup languages that syntax highlighting supports, one row per language.
//!
//! A row ([`SourceLanguage`]) contains the language's names and file extensions, its lexer, comment marks,
//! string delimiters and keywords. The table has no logic: `source_language` looks rows up, and the lexers
//! read them. Keyword lists are formatted by hand: with one word per line the rows would be hard to read.

use super::source_language::{SourceLanguage, StringDelimiter, LexerKind};

const fn string_delimiter(mark: &'static str, escapes: bool, lines: bool) -> StringDelimiter {
    StringDelimiter {
        delimiter: mark,
        escapes,
        multiline: lines,
    }
}

const C_COMMENT: Option<(&str, &str)> = Some(("/*", "*/"));
const DOUBLE_QUOTE: StringDelimiter = string_delimiter("\"", true, false);
const SINGLE_QUOTE: StringDelimiter = string_delimiter("'", true, false);
const SINGLE_LINE_QUOTES: &[StringDelimiter] = &[DOUBLE_QUOTE, SINGLE_QUOTE];
const JS_QUOTES: &[StringDelimiter] = &[DOUBLE_QUOTE, SINGLE_QUOTE, string_delimiter("`", true, true)];
const SH_QUOTES: &[StringDelimiter] = &[string_delimiter("\"", true, true), string_delimiter("'", false, true)];
const TRIPLE_QUOTES: &[StringDelimiter] = &[
    string_delimiter("\"\"\"", true, true),
    string_delimiter("'''", true, true),
    DOUBLE_QUOTE,
    SINGLE_QUOTE,
];
const COMMON_VALUES: &[&str] = &["true", "false", "null"];
/// Base of most languages with braces.
const BRACE_LANGUAGE: SourceLanguage = SourceLanguage {
    line_comments: &["//"],
    block_comment: C_COMMENT,
    quotes: SINGLE_LINE_QUOTES,
    value_words: COMMON_VALUES,
    ..SourceLanguage::CODE_DEFAULTS
};
/// Base of most scripting languages.
const SCRIPT_LANGUAGE: SourceLanguage = SourceLanguage {
    line_comments: &["#"],
    quotes: SINGLE_LINE_QUOTES,
    value_words: COMMON_VALUES,
    ..SourceLanguage::CODE_DEFAULTS
};

pub(super) static LANGUAGES: &[SourceLanguage] = &[
    SourceLanguage {
        name: "Rust",
        aliases: &["rs"],
        quotes: &[string_delimiter("\"", true, true)],
        rust_quotes: true,
        meta_prefixes: "#",
        value_words: &["true", "false", "None", "Some", "Ok", "Err"],
        keywords: &[
            "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "fn",
            "for", "if", "impl", "in", "let", "loop", "macro_rules", "match", "mod", "move", "mut", "pub", "ref",
            "return", "self", "static", "struct", "super", "trait", "type", "union", "unsafe", "use", "where",
            "while", "bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64",
            "i128", "isize", "f32", "f64",
        ],
        ..BRACE_LANGUAGE
    },
    SourceLanguage {
        name: "Python",
        aliases: &["py", "pyi", "py3", "python3"],
        quotes: TRIPLE_QUOTES,
        meta_prefixes: "@",
        value_words: &["True", "False", "None"],
        keywords: &[
            "and", "as", "assert", "async", "await", "break", "case", "class", "continue", "def",
            "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
            "in", "is", "lambda", "match", "nonlocal", "not", "or", "pass", "raise", "return",
            "self", "try", "while", "with", "yield",
        ],
        ..SCRIPT_LANGUAGE
    },
    SourceLanguage {
        name: "JavaScript",
        aliases: &["js", "mjs", "cjs", "jsx", "node"],
        quotes: JS_QUOTES,
        meta_prefixes: "@",
        extra_word_chars: "$",
        value_words: &["true", "false", "null", "undefined", "NaN"],
        keywords: JS_KEYWORDS,
        ..BRACE_LANGUAGE
    },
    SourceLanguage {
        name: "TypeScript",
        aliases: &["ts", "tsx", "mts", "cts"],
        quotes: JS_QUOTES,
        meta_prefixes: "@",
        extra_word_chars: "$",
        value_words: &["true", "false", "null", "undefined", "NaN"],
        keywords: TS_KEYWORDS,
        ..BRACE_LANGUAGE
    },
    SourceLanguage {
        name: "Go",
        aliases: &["golang"],
        quotes: &[DOUBLE_QUOTE, SINGLE_QUOTE, string_delimiter("`", false, true)],
        value_words: &["true", "false", "nil", "iota"],
        keywords: &[
            "break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "for", "func",
            "go", "goto", "if", "import", "interface", "map", "package", "range", "return", "select", "struct",
            "switch", "type", "var", "string", "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16",
            "uint32", "uint64", "bool", "byte", "rune", "error", "any", "float32", "float64",
        ],
        ..BRACE_LANGUAGE
    },
    SourceLanguage {
        name: "C",
        aliases: &["h"],
        meta_prefixes: "#",
        value_words: &["true", "false", "NULL"],
        keywords: C_KEYWORDS,
        ..BRACE_LANGUAGE
    },
    SourceLanguage {
        name: "C++",
        aliases: &["cpp", "cc", "cxx", "hpp", "hh", "hxx", "cu"],
        meta_prefixes: "#",
        value_words: &["true", "false", "NULL", "nullptr"],
        keywords: CPP_KEYWORDS,
        ..BRACE_LANGUAGE
    },
    SourceLanguage {
        name: "Java",
        aliases: &["kt", "kts", "kotlin", "scala", "groovy", "gradle"],
        quotes: TRIPLE_QUOTES,
        meta_prefixes: "@",
        keywords: &[
            "abstract", "assert", "boolean", "break", "byte", "case", "catch", "char", "class", "const",
            "continue", "data", "def", "default", "do", "double", "else", "enum", "extends", "final", "finally",
            "float", "for", "fun", "if", "implements", "import", "in", "instanceof", "int", "interface", "is",
            "long", "native", "new", "object", "override", "package", "private", "protected", "public", "record",
            "return", "sealed", "short", "static", "super", "switch", "synchronized", "this", "throw", "throws",
            "trait", "transient", "try", "val", "var", "void", "volatile", "when", "while", "yield",
        ],
        ..BRACE_LANGUAGE
    },
    SourceLanguage {
        name: "C#",
        aliases: &["cs", "csharp"],
        meta_prefixes: "#",
        keywords: &[
            "abstract", "as", "async", "await", "base", "bool", "break", "case", "catch", "class", "const",
            "continue", "decimal", "default", "delegate", "do", "double", "else", "enum", "event", "finally",
            "float", "for", "foreach", "get", "if", "in", "int", "interface", "internal", "is", "lock", "long",
            "namespace", "new", "object", "out", "override", "params", "private", "protected", "public",
            "readonly", "record", "ref", "return", "sealed", "set", "static", "string", "struct", "switch", "this",
            "throw", "try", "typeof", "using", "var", "virtual", "void", "when", "where", "while", "yield",
        ],
        ..BRACE_LANGUAGE
    },
    SourceLanguage {
        name: "Swift",
        aliases: &["swift"],
        quotes: TRIPLE_QUOTES,
        meta_prefixes: "@#",
        value_words: &["true", "false", "nil"],
        keywords: &[
            "as", "async", "await", "break", "case", "catch", "class", "continue", "default", "defer", "do",
            "else", "enum", "extension", "fileprivate", "for", "func", "guard", "if", "import", "in", "init",
            "inout", "internal", "is", "let", "open", "private", "protocol", "public", "repeat", "return", "self",
            "static", "struct", "subscript", "super", "switch", "throw", "throws", "try", "typealias", "var",
            "where", "while",
        ],
        ..BRACE_LANGUAGE
    },
    SourceLanguage {
        name: "PHP",
        aliases: &["php"],
        line_comments: &["//", "#"],
        meta_prefixes: "$",
        case_insensitive: true,
        keywords: &[
            "abstract", "array", "as", "break", "case", "catch", "class", "const", "continue", "default", "do",
            "echo", "else", "elseif", "extends", "final", "finally", "fn", "for", "foreach", "function", "global",
            "if", "implements", "include", "instanceof", "interface", "match", "namespace", "new", "private",
            "protected", "public", "require", "return", "static", "switch", "this", "throw", "trait", "try", "use",
            "while", "yield",
        ],
        ..BRACE_LANGUAGE
    },
    SourceLanguage {
        name: "Ruby",
        aliases: &["rb", "rake", "gemspec"],
        meta_prefixes: "@:",
        value_words: &["true", "false", "nil"],
        keywords: &[
            "alias", "and", "begin", "break", "case", "class", "def", "do", "else", "elsif", "end",
            "ensure", "for", "if", "in", "module", "next", "not", "or", "redo", "require",
            "rescue", "retry", "return", "self", "super", "then", "undef", "unless", "until",
            "when", "while", "yield",
        ],
        ..SCRIPT_LANGUAGE
    },
    SourceLanguage {
        name: "Lua",
        aliases: &["lua"],
        line_comments: &["--"],
        block_comment: Some(("--[[", "]]")),
        value_words: &["true", "false", "nil"],
        keywords: &[
            "and", "break", "do", "else", "elseif", "end", "for", "function", "goto", "if", "in",
            "local", "not", "or", "repeat", "return", "then", "until", "while",
        ],
        ..SCRIPT_LANGUAGE
    },
    SourceLanguage {
        name: "Shell",
        aliases: &[
            "sh", "bash", "zsh", "fish", "ksh", "console", "shell-session", "env",
        ],
        quotes: SH_QUOTES,
        meta_prefixes: "$",
        extra_word_chars: "-",
        capitalized_types: false,
        value_words: &["true", "false"],
        keywords: &[
            "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case",
            "esac", "in", "function", "select", "return", "break", "continue", "exit", "export",
            "local", "readonly", "set", "unset", "shift", "trap", "source", "eval", "exec", "cd",
            "echo", "printf", "test",
        ],
        ..SCRIPT_LANGUAGE
    },
    SourceLanguage {
        name: "Make",
        aliases: &["mk", "makefile", "just"],
        quotes: SH_QUOTES,
        meta_prefixes: "$",
        extra_word_chars: "-",
        capitalized_types: false,
        key_separator: Some(':'),
        keywords: &[
            "include", "define", "endef", "ifeq", "ifneq", "ifdef", "ifndef", "else", "endif",
            "export", "override",
        ],
        ..SCRIPT_LANGUAGE
    },
    SourceLanguage {
        name: "Dockerfile",
        aliases: &["docker", "containerfile"],
        quotes: SH_QUOTES,
        meta_prefixes: "$",
        extra_word_chars: "-",
        capitalized_types: false,
        keywords: &[
            "FROM", "AS", "RUN", "CMD", "LABEL", "EXPOSE", "ENV", "ADD", "COPY", "ENTRYPOINT", "VOLUME", "USER",
            "WORKDIR", "ARG", "ONBUILD", "STOPSIGNAL", "HEALTHCHECK", "SHELL",
        ],
        ..SCRIPT_LANGUAGE
    },
    SourceLanguage {
        name: "JSON",
        aliases: &[
            "jsonc", "json5", "jsonl", "ndjson", "geojson", "webmanifest",
        ],
        quotes: SINGLE_LINE_QUOTES,
        key_separator: Some(':'),
        capitalized_types: false,
        ..BRACE_LANGUAGE
    },
    SourceLanguage {
        name: "TOML",
        aliases: &["ini", "cfg", "conf", "properties"],
        quotes: TRIPLE_QUOTES,
        key_separator: Some('='),
        extra_word_chars: "-.",
        capitalized_types: false,
        line_comments: &["#", ";"],
        ..SCRIPT_LANGUAGE
    },
    SourceLanguage {
        name: "YAML",
        aliases: &["yml"],
        key_separator: Some(':'),
        extra_word_chars: "-./",
        capitalized_types: false,
        meta_prefixes: "&*!",
        value_words: &["true", "false", "null", "yes", "no", "on", "off", "~"],
        ..SCRIPT_LANGUAGE
    },
    SourceLanguage {
        name: "CSS",
        aliases: &["scss", "less", "sass"],
        line_comments: &[],
        key_separator: Some(':'),
        extra_word_chars: "-",
        meta_prefixes: "@#.",
        capitalized_types: false,
        value_words: &["inherit", "none", "auto", "initial", "unset"],
        ..BRACE_LANGUAGE
    },
    SourceLanguage {
        name: "SQL",
        aliases: &["mysql", "postgres", "postgresql", "psql", "sqlite", "plsql"],
        line_comments: &["--"],
        block_comment: C_COMMENT,
        quotes: &[string_delimiter("'", false, true), string_delimiter("\"", false, false)],
        value_words: COMMON_VALUES,
        case_insensitive: true,
        capitalized_types: false,
        keywords: &[
            "add", "all", "alter", "and", "as", "asc", "begin", "between", "by", "cascade", "case", "check",
            "column", "commit", "constraint", "create", "cross", "default", "delete", "desc", "distinct", "drop",
            "else", "end", "except", "exists", "explain", "foreign", "from", "full", "group", "having", "if", "in",
            "index", "inner", "insert", "intersect", "into", "is", "join", "key", "left", "like", "limit", "not",
            "offset", "on", "or", "order", "outer", "primary", "references", "returning", "right", "rollback",
            "select", "set", "table", "then", "trigger", "union", "unique", "update", "using", "values", "view",
            "when", "where", "with", "integer", "bigint", "text", "varchar", "boolean", "timestamp", "numeric",
            "serial", "jsonb",
        ],
        ..SourceLanguage::CODE_DEFAULTS
    },
    SourceLanguage {
        name: "GraphQL",
        aliases: &["gql"],
        quotes: TRIPLE_QUOTES,
        meta_prefixes: "@$",
        keywords: &[
            "query", "mutation", "subscription", "fragment", "on", "type", "input", "enum", "interface", "union",
            "scalar", "schema", "directive", "extend", "implements",
        ],
        ..SCRIPT_LANGUAGE
    },
    SourceLanguage {
        name: "Protobuf",
        aliases: &["proto"],
        keywords: &[
            "syntax", "package", "import", "option", "message", "enum", "service", "rpc",
            "returns", "repeated", "optional", "required", "oneof", "map", "reserved", "stream",
            "string", "bool", "bytes", "int32", "int64", "uint32", "uint64", "double", "float",
        ],
        ..BRACE_LANGUAGE
    },
    SourceLanguage {
        name: "Terraform",
        aliases: &["tf", "hcl", "nix"],
        key_separator: Some('='),
        line_comments: &["#", "//"],
        block_comment: C_COMMENT,
        keywords: &[
            "resource", "variable", "output", "module", "provider", "data", "locals", "terraform", "let", "in",
            "with", "rec", "inherit", "if", "then", "else",
        ],
        ..SCRIPT_LANGUAGE
    },
    SourceLanguage {
        name: "Zig",
        aliases: &["zig"],
        meta_prefixes: "@",
        value_words: &["true", "false", "null", "undefined"],
        keywords: &[
            "const", "var", "fn", "pub", "return", "if", "else", "while", "for", "switch", "break",
            "continue", "defer", "errdefer", "try", "catch", "orelse", "struct", "enum", "union",
            "error", "comptime", "test", "extern", "export", "inline", "usize", "u8", "i32", "u32",
            "u64", "i64", "bool", "void", "type", "and", "or",
        ],
        ..BRACE_LANGUAGE
    },
    SourceLanguage {
        name: "HTML",
        aliases: &[
            "htm", "xml", "svg", "xhtml", "vue", "svelte", "xsl", "plist", "rss",
        ],
        lexer: LexerKind::Markup,
        ..SourceLanguage::CODE_DEFAULTS
    },
    SourceLanguage {
        name: "Markdown",
        aliases: &["md", "mdx", "markdown"],
        lexer: LexerKind::Markdown,
        ..SourceLanguage::CODE_DEFAULTS
    },
    SourceLanguage {
        name: "Diff",
        aliases: &["patch", "udiff"],
        lexer: LexerKind::Diff,
        ..SourceLanguage::CODE_DEFAULTS
    },
];

const JS_KEYWORDS: &[&str] = &[
    "async", "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete",
    "do", "else", "export", "extends", "finally", "for", "from", "function", "get", "if", "import", "in",
    "instanceof", "let", "new", "of", "return", "set", "static", "super", "switch", "this", "throw", "try",
    "typeof", "var", "void", "while", "yield",
];
const TS_KEYWORDS: &[&str] = &[
    "abstract", "any", "as", "async", "await", "boolean", "break", "case", "catch", "class", "const", "continue",
    "declare", "default", "delete", "do", "else", "enum", "export", "extends", "finally", "for", "from",
    "function", "get", "if", "implements", "import", "in", "infer", "instanceof", "interface", "is", "keyof",
    "let", "namespace", "never", "new", "number", "object", "of", "private", "protected", "public", "readonly",
    "return", "satisfies", "set", "static", "string", "super", "switch", "this", "throw", "try", "type", "typeof",
    "unknown", "var", "void", "while", "yield",
];
const C_KEYWORDS: &[&str] = &[
    "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double",
    "else", "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
    "union", "unsigned", "void", "volatile", "while", "size_t", "int8_t", "int16_t", "int32_t",
    "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t",
];
const CPP_KEYWORDS: &[&str] = &[
    "alignas", "auto", "bool", "break", "case", "catch", "char", "class", "concept", "const", "consteval",
    "constexpr", "continue", "co_await", "co_return", "co_yield", "decltype", "default", "delete", "do", "double",
    "else", "enum", "explicit", "export", "extern", "final", "float", "for", "friend", "goto", "if", "inline",
    "int", "long", "mutable", "namespace", "new", "noexcept", "operator", "override", "private", "protected",
    "public", "requires", "return", "short", "signed", "sizeof", "static", "static_cast", "struct", "switch",
    "template", "this", "throw", "try", "typedef", "typename", "union", "unsigned", "using", "virtual", "void",
    "volatile", "while", "size_t", "string", "vector",
];
