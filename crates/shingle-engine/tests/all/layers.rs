//! A module of the engine uses only the modules below it, in the order drawn at the head of
//! `engine/mod.rs`. The compiler would accept cycles, but then a reader of one line would have to
//! know every module.

use std::fs;
use std::path::{Path, PathBuf};

/// From the bottom up. Modules in one row do not use each other.
const LAYERS: &[&[&str]] = &[
    &["keys", "open_error", "ssd_state"],
    &["state", "status"],
    &["port"],
    &["disk", "durability", "failure"],
    &["contents"],
    &["requests", "destage", "life", "exchange", "trims"],
    &["due"],
    &[
        "banding",
        "blocks",
        "committing",
        "completions",
        "destaging",
        "exchanging",
        "front",
        "growing",
        "trimming",
    ],
];

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| modules.contains(&module))
}

/// All source files in a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the crate") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Modules that a file of the engine uses from outside its own module: `super::port`,
/// `super::super::port`, `crate::engine::port`, also in braces.
fn named(file: &Path, own: &str, text: &str) -> Vec<String> {
    let inside = file.parent().is_some_and(|parent| parent.ends_with(own));
    let deep = inside && !file.ends_with("mod.rs");
    let up = if deep { "super::super::" } else { "super::" };
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut found = Vec::new();
    for line in code {
        for start in [up, "crate::engine::"] {
            for (at, _) in line.match_indices(start) {
                // The end of a longer path is not the path itself.
                if start == "super::" && line[..at].ends_with("super::") {
                    continue;
                }
                let rest = line[at + start.len()..].trim_start_matches('{');
                let names = rest.split(['}', ';']).next().unwrap_or("").split(',');
                found.extend(names.filter_map(|name| {
                    let name = name.trim().split("::").next()?;
                    (layer(name).is_some() && name != own).then(|| name.to_owned())
                }));
            }
        }
    }
    found
}

#[test]
fn a_room_names_only_those_below_it() {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine");
    let mut arrows = 0;
    for file in sources(&engine) {
        let inner = file.strip_prefix(&engine).expect("it is below");
        let first = inner.iter().next().expect("a name").to_string_lossy();
        let own = first.trim_end_matches(".rs");
        if own == "mod" {
            continue;
        }
        let here = layer(own)
            .unwrap_or_else(|| panic!("{own} is no module in LAYERS: say where it belongs"));
        let text = fs::read_to_string(&file).expect("a source file");
        for other in named(&file, own, &text) {
            let there = layer(&other).expect("only modules are named");
            assert!(there < here, "{}: names {other}, which is not below {own}", inner.display());
            arrows += 1;
        }
    }
    assert!(
        arrows > 30,
        "only {arrows} names of modules were found: are they written in another way now?"
    );
}

#[test]
fn names_are_found_as_they_are_written() {
    let file = Path::new("engine/destage/done.rs");
    let text =
        "use super::super::port::{Failed, Port};\n// use super::super::life;\nuse super::Job;\n";
    assert_eq!(named(file, "destage", text), ["port"]);
    let file = Path::new("engine/destage/mod.rs");
    assert_eq!(named(file, "destage", "use super::{disk, life::Life};"), ["disk", "life"]);
    assert_eq!(named(file, "destage", "fn f(x: crate::engine::requests::Errno)"), ["requests"]);
}
