//! Build script: checks the message catalogue. Generates one Rust function for each message in `locales/`, and
//! tables of the messages in `refusals/` and `definitions/`.

#[path = "build/catalogue.rs"]
mod catalogue;
#[path = "build/definition_table.rs"]
mod definition_table;
#[path = "build/function_source.rs"]
mod function_source;
#[path = "build/pattern.rs"]
mod pattern;
#[path = "src/refusal_encoding.rs"]
mod refusal_encoding;
#[path = "build/refusal_table.rs"]
mod refusal_table;

use std::path::Path;
use std::{env, fs};

use catalogue::{Catalogue, CatalogueSource};

#[expect(
    clippy::disallowed_methods,
    reason = "cargo passes the directory in the environment"
)]
fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=definitions");
    println!("cargo::rerun-if-changed=locales");
    println!("cargo::rerun-if-changed=refusals");
    println!("cargo::rerun-if-changed=src/refusal_encoding.rs");
    let directory = env::var("OUT_DIR").map_err(|error| error.to_string())?;
    let write = |name: &str, text: String| {
        let file = Path::new(&directory).join(name);
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
    };
    let source = CatalogueSource::read(Path::new("locales"))?;
    let mut problems = Vec::new();
    match Catalogue::parse(&source) {
        Ok(catalogue) => write("messages.rs", function_source::render_functions(&catalogue))?,
        Err(found) => problems.extend(found),
    }
    match refusal_table::render_refusals(Path::new("refusals")) {
        Ok(table) => {
            write("refusals.rs", table.index)?;
            write("refusals.txt", table.text)?;
        }
        Err(found) => problems.extend(found),
    }
    let definitions = CatalogueSource::read(Path::new("definitions"))?;
    match definition_table::render_definitions(&definitions) {
        Ok(tables) => write("definitions.rs", tables)?,
        Err(found) => problems.extend(found),
    }
    for problem in problems {
        println!("cargo::error={problem}");
    }
    Ok(())
}
