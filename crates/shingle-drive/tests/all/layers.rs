//! A drive knows nothing of caches and policies: of the core it has units, zones, parts and parsing, and no more.

use std::fs;
use std::path::{Path, PathBuf};

const ALLOWED: &[&str] =
    &["params", "parts", "size", "drive_view::Costs", "drive_view::InOrder", "units", "zones"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of the crate");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

#[test]
fn drives_name_no_policy() {
    const CORE: &str = "shingle_core::";
    let mut found = 0;
    for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = fs::read_to_string(&file).expect("a source file");
        for (at, _) in text.match_indices(CORE) {
            let path = &text[at + CORE.len()..];
            let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let module = path.split(|c| !is_part(c)).next().unwrap_or("");
            // Several of one module: `drive_view::{Costs, InOrder}`.
            let group =
                path[module.len()..].strip_prefix('{').and_then(|rest| rest.split('}').next());
            for name in group.unwrap_or("").split(',') {
                let named = format!("{module}{}", name.trim());
                let allowed = ALLOWED.iter().any(|&one| {
                    named
                        .strip_prefix(one)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
                });
                assert!(allowed, "{}: {CORE}{named} is not for drives", file.display());
            }
            found += 1;
        }
    }
    assert!(
        found > 20,
        "only {found} names of the core were found: are they written in another way now?"
    );
}
