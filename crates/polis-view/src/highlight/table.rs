//! Table of the supported languages, one row each. Keyword lists are formatted by hand: with one word per
//! line the rows would be hard to read.

use super::language::{Language, Quote, Shape};

const fn quote(mark: &'static str, escapes: bool, lines: bool) -> Quote {
    Quote {
        mark,
        escapes,
        lines,
    }
}

const C_COMMENT: Option<(&str, &str)> = Some(("/*", "*/"));
const DOUBLE: Quote = quote("\"", true, false);
const SINGLE: Quote = quote("'", true, false);
const BOTH: &[Quote] = &[DOUBLE, SINGLE];
const JS_QUOTES: &[Quote] = &[DOUBLE, SINGLE, quote("`", true, true)];
const SH_QUOTES: &[Quote] = &[quote("\"", true, true), quote("'", false, true)];
const TRIPLE: &[Quote] = &[
    quote("\"\"\"", true, true),
    quote("'''", true, true),
    DOUBLE,
    SINGLE,
];
const VALUES: &[&str] = &["true", "false", "null"];
/// Base of most languages with braces.
const BRACES: Language = Language {
    line_comments: &["//"],
    block_comment: C_COMMENT,
    quotes: BOTH,
    values: VALUES,
    ..Language::CODE
};
/// Base of most scripting languages.
const SCRIPT: Language = Language {
    line_comments: &["#"],
    quotes: BOTH,
    values: VALUES,
    ..Language::CODE
};

pub(super) static LANGUAGES: &[Language] = &[
    Language {
        name: "Rust",
        names: &["rs"],
        quotes: &[quote("\"", true, true)],
        rust_quotes: true,
        meta_signs: "#",
        values: &["true", "false", "None", "Some", "Ok", "Err"],
        keywords: &[
            "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "fn",
            "for", "if", "impl", "in", "let", "loop", "macro_rules", "match", "mod", "move", "mut", "pub", "ref",
            "return", "self", "static", "struct", "super", "trait", "type", "union", "unsafe", "use", "where",
            "while", "bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64",
            "i128", "isize", "f32", "f64",
        ],
        ..BRACES
    },
    Language {
        name: "Python",
        names: &["py", "pyi", "py3", "python3"],
        quotes: TRIPLE,
        meta_signs: "@",
        values: &["True", "False", "None"],
        keywords: &[
            "and", "as", "assert", "async", "await", "break", "case", "class", "continue", "def",
            "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
            "in", "is", "lambda", "match", "nonlocal", "not", "or", "pass", "raise", "return",
            "self", "try", "while", "with", "yield",
        ],
        ..SCRIPT
    },
    Language {
        name: "JavaScript",
        names: &["js", "mjs", "cjs", "jsx", "node"],
        quotes: JS_QUOTES,
        meta_signs: "@",
        in_words: "$",
        values: &["true", "false", "null", "undefined", "NaN"],
        keywords: JS_WORDS,
        ..BRACES
    },
    Language {
        name: "TypeScript",
        names: &["ts", "tsx", "mts", "cts"],
        quotes: JS_QUOTES,
        meta_signs: "@",
        in_words: "$",
        values: &["true", "false", "null", "undefined", "NaN"],
        keywords: TS_WORDS,
        ..BRACES
    },
    Language {
        name: "Go",
        names: &["golang"],
        quotes: &[DOUBLE, SINGLE, quote("`", false, true)],
        values: &["true", "false", "nil", "iota"],
        keywords: &[
            "break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "for", "func",
            "go", "goto", "if", "import", "interface", "map", "package", "range", "return", "select", "struct",
            "switch", "type", "var", "string", "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16",
            "uint32", "uint64", "bool", "byte", "rune", "error", "any", "float32", "float64",
        ],
        ..BRACES
    },
    Language {
        name: "C",
        names: &["h"],
        meta_signs: "#",
        values: &["true", "false", "NULL"],
        keywords: C_WORDS,
        ..BRACES
    },
    Language {
        name: "C++",
        names: &["cpp", "cc", "cxx", "hpp", "hh", "hxx", "cu"],
        meta_signs: "#",
        values: &["true", "false", "NULL", "nullptr"],
        keywords: CPP_WORDS,
        ..BRACES
    },
    Language {
        name: "Java",
        names: &["kt", "kts", "kotlin", "scala", "groovy", "gradle"],
        quotes: TRIPLE,
        meta_signs: "@",
        keywords: &[
            "abstract", "assert", "boolean", "break", "byte", "case", "catch", "char", "class", "const",
            "continue", "data", "def", "default", "do", "double", "else", "enum", "extends", "final", "finally",
            "float", "for", "fun", "if", "implements", "import", "in", "instanceof", "int", "interface", "is",
            "long", "native", "new", "object", "override", "package", "private", "protected", "public", "record",
            "return", "sealed", "short", "static", "super", "switch", "synchronized", "this", "throw", "throws",
            "trait", "transient", "try", "val", "var", "void", "volatile", "when", "while", "yield",
        ],
        ..BRACES
    },
    Language {
        name: "C#",
        names: &["cs", "csharp"],
        meta_signs: "#",
        keywords: &[
            "abstract", "as", "async", "await", "base", "bool", "break", "case", "catch", "class", "const",
            "continue", "decimal", "default", "delegate", "do", "double", "else", "enum", "event", "finally",
            "float", "for", "foreach", "get", "if", "in", "int", "interface", "internal", "is", "lock", "long",
            "namespace", "new", "object", "out", "override", "params", "private", "protected", "public",
            "readonly", "record", "ref", "return", "sealed", "set", "static", "string", "struct", "switch", "this",
            "throw", "try", "typeof", "using", "var", "virtual", "void", "when", "where", "while", "yield",
        ],
        ..BRACES
    },
    Language {
        name: "Swift",
        names: &["swift"],
        quotes: TRIPLE,
        meta_signs: "@#",
        values: &["true", "false", "nil"],
        keywords: &[
            "as", "async", "await", "break", "case", "catch", "class", "continue", "default", "defer", "do",
            "else", "enum", "extension", "fileprivate", "for", "func", "guard", "if", "import", "in", "init",
            "inout", "internal", "is", "let", "open", "private", "protocol", "public", "repeat", "return", "self",
            "static", "struct", "subscript", "super", "switch", "throw", "throws", "try", "typealias", "var",
            "where", "while",
        ],
        ..BRACES
    },
    Language {
        name: "PHP",
        names: &["php"],
        line_comments: &["//", "#"],
        meta_signs: "$",
        any_case: true,
        keywords: &[
            "abstract", "array", "as", "break", "case", "catch", "class", "const", "continue", "default", "do",
            "echo", "else", "elseif", "extends", "final", "finally", "fn", "for", "foreach", "function", "global",
            "if", "implements", "include", "instanceof", "interface", "match", "namespace", "new", "private",
            "protected", "public", "require", "return", "static", "switch", "this", "throw", "trait", "try", "use",
            "while", "yield",
        ],
        ..BRACES
    },
    Language {
        name: "Ruby",
        names: &["rb", "rake", "gemspec"],
        meta_signs: "@:",
        values: &["true", "false", "nil"],
        keywords: &[
            "alias", "and", "begin", "break", "case", "class", "def", "do", "else", "elsif", "end",
            "ensure", "for", "if", "in", "module", "next", "not", "or", "redo", "require",
            "rescue", "retry", "return", "self", "super", "then", "undef", "unless", "until",
            "when", "while", "yield",
        ],
        ..SCRIPT
    },
    Language {
        name: "Lua",
        names: &["lua"],
        line_comments: &["--"],
        block_comment: Some(("--[[", "]]")),
        values: &["true", "false", "nil"],
        keywords: &[
            "and", "break", "do", "else", "elseif", "end", "for", "function", "goto", "if", "in",
            "local", "not", "or", "repeat", "return", "then", "until", "while",
        ],
        ..SCRIPT
    },
    Language {
        name: "Shell",
        names: &[
            "sh", "bash", "zsh", "fish", "ksh", "console", "shell-session", "env",
        ],
        quotes: SH_QUOTES,
        meta_signs: "$",
        in_words: "-",
        capital_types: false,
        values: &["true", "false"],
        keywords: &[
            "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case",
            "esac", "in", "function", "select", "return", "break", "continue", "exit", "export",
            "local", "readonly", "set", "unset", "shift", "trap", "source", "eval", "exec", "cd",
            "echo", "printf", "test",
        ],
        ..SCRIPT
    },
    Language {
        name: "Make",
        names: &["mk", "makefile", "just"],
        quotes: SH_QUOTES,
        meta_signs: "$",
        in_words: "-",
        capital_types: false,
        key_sign: Some(':'),
        keywords: &[
            "include", "define", "endef", "ifeq", "ifneq", "ifdef", "ifndef", "else", "endif",
            "export", "override",
        ],
        ..SCRIPT
    },
    Language {
        name: "Dockerfile",
        names: &["docker", "containerfile"],
        quotes: SH_QUOTES,
        meta_signs: "$",
        in_words: "-",
        capital_types: false,
        keywords: &[
            "FROM", "AS", "RUN", "CMD", "LABEL", "EXPOSE", "ENV", "ADD", "COPY", "ENTRYPOINT", "VOLUME", "USER",
            "WORKDIR", "ARG", "ONBUILD", "STOPSIGNAL", "HEALTHCHECK", "SHELL",
        ],
        ..SCRIPT
    },
    Language {
        name: "JSON",
        names: &[
            "jsonc", "json5", "jsonl", "ndjson", "geojson", "webmanifest",
        ],
        quotes: BOTH,
        key_sign: Some(':'),
        capital_types: false,
        ..BRACES
    },
    Language {
        name: "TOML",
        names: &["ini", "cfg", "conf", "properties"],
        quotes: TRIPLE,
        key_sign: Some('='),
        in_words: "-.",
        capital_types: false,
        line_comments: &["#", ";"],
        ..SCRIPT
    },
    Language {
        name: "YAML",
        names: &["yml"],
        key_sign: Some(':'),
        in_words: "-./",
        capital_types: false,
        meta_signs: "&*!",
        values: &["true", "false", "null", "yes", "no", "on", "off", "~"],
        ..SCRIPT
    },
    Language {
        name: "CSS",
        names: &["scss", "less", "sass"],
        line_comments: &[],
        key_sign: Some(':'),
        in_words: "-",
        meta_signs: "@#.",
        capital_types: false,
        values: &["inherit", "none", "auto", "initial", "unset"],
        ..BRACES
    },
    Language {
        name: "SQL",
        names: &["mysql", "postgres", "postgresql", "psql", "sqlite", "plsql"],
        line_comments: &["--"],
        block_comment: C_COMMENT,
        quotes: &[quote("'", false, true), quote("\"", false, false)],
        values: VALUES,
        any_case: true,
        capital_types: false,
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
        ..Language::CODE
    },
    Language {
        name: "GraphQL",
        names: &["gql"],
        quotes: TRIPLE,
        meta_signs: "@$",
        keywords: &[
            "query", "mutation", "subscription", "fragment", "on", "type", "input", "enum", "interface", "union",
            "scalar", "schema", "directive", "extend", "implements",
        ],
        ..SCRIPT
    },
    Language {
        name: "Protobuf",
        names: &["proto"],
        keywords: &[
            "syntax", "package", "import", "option", "message", "enum", "service", "rpc",
            "returns", "repeated", "optional", "required", "oneof", "map", "reserved", "stream",
            "string", "bool", "bytes", "int32", "int64", "uint32", "uint64", "double", "float",
        ],
        ..BRACES
    },
    Language {
        name: "Terraform",
        names: &["tf", "hcl", "nix"],
        key_sign: Some('='),
        line_comments: &["#", "//"],
        block_comment: C_COMMENT,
        keywords: &[
            "resource", "variable", "output", "module", "provider", "data", "locals", "terraform", "let", "in",
            "with", "rec", "inherit", "if", "then", "else",
        ],
        ..SCRIPT
    },
    Language {
        name: "Zig",
        names: &["zig"],
        meta_signs: "@",
        values: &["true", "false", "null", "undefined"],
        keywords: &[
            "const", "var", "fn", "pub", "return", "if", "else", "while", "for", "switch", "break",
            "continue", "defer", "errdefer", "try", "catch", "orelse", "struct", "enum", "union",
            "error", "comptime", "test", "extern", "export", "inline", "usize", "u8", "i32", "u32",
            "u64", "i64", "bool", "void", "type", "and", "or",
        ],
        ..BRACES
    },
    Language {
        name: "HTML",
        names: &[
            "htm", "xml", "svg", "xhtml", "vue", "svelte", "xsl", "plist", "rss",
        ],
        shape: Shape::Markup,
        ..Language::CODE
    },
    Language {
        name: "Markdown",
        names: &["md", "mdx", "markdown"],
        shape: Shape::Markdown,
        ..Language::CODE
    },
    Language {
        name: "Diff",
        names: &["patch", "udiff"],
        shape: Shape::Diff,
        ..Language::CODE
    },
];

const JS_WORDS: &[&str] = &[
    "async", "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete",
    "do", "else", "export", "extends", "finally", "for", "from", "function", "get", "if", "import", "in",
    "instanceof", "let", "new", "of", "return", "set", "static", "super", "switch", "this", "throw", "try",
    "typeof", "var", "void", "while", "yield",
];
const TS_WORDS: &[&str] = &[
    "abstract", "any", "as", "async", "await", "boolean", "break", "case", "catch", "class", "const", "continue",
    "declare", "default", "delete", "do", "else", "enum", "export", "extends", "finally", "for", "from",
    "function", "get", "if", "implements", "import", "in", "infer", "instanceof", "interface", "is", "keyof",
    "let", "namespace", "never", "new", "number", "object", "of", "private", "protected", "public", "readonly",
    "return", "satisfies", "set", "static", "string", "super", "switch", "this", "throw", "try", "type", "typeof",
    "unknown", "var", "void", "while", "yield",
];
const C_WORDS: &[&str] = &[
    "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double",
    "else", "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
    "union", "unsigned", "void", "volatile", "while", "size_t", "int8_t", "int16_t", "int32_t",
    "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t",
];
const CPP_WORDS: &[&str] = &[
    "alignas", "auto", "bool", "break", "case", "catch", "char", "class", "concept", "const", "consteval",
    "constexpr", "continue", "co_await", "co_return", "co_yield", "decltype", "default", "delete", "do", "double",
    "else", "enum", "explicit", "export", "extern", "final", "float", "for", "friend", "goto", "if", "inline",
    "int", "long", "mutable", "namespace", "new", "noexcept", "operator", "override", "private", "protected",
    "public", "requires", "return", "short", "signed", "sizeof", "static", "static_cast", "struct", "switch",
    "template", "this", "throw", "try", "typedef", "typename", "union", "unsigned", "using", "virtual", "void",
    "volatile", "while", "size_t", "string", "vector",
];
