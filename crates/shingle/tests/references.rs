//! What documents refer to is there: the files and headings that they link to, the tests that they name.

use std::path::{Path, PathBuf};

#[test]
fn links_lead_somewhere() {
    for path in documents() {
        let text = without_blocks(&read(&path));
        // (Addresses elsewhere are not asked for.)
        let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        for (link, _) in links.filter(|(link, _)| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if file.is_empty() { path.clone() } else { path.with_file_name("").join(file) };
            let place = format!("{}: `{link}`", path.display());
            assert!(target.exists(), "{place}: there is no such file");
            let there = heading.is_empty() || anchors(&read(&target)).iter().any(|a| a == heading);
            assert!(there, "{place}: there is no such heading");
        }
    }
}

#[test]
fn tests_that_documents_name_are_where_they_say() {
    let root = root();
    let mut sources = Vec::new();
    collect(&root.join("crates"), "rs", &mut sources);
    let sources: Vec<(PathBuf, String)> =
        sources.into_iter().map(|p| (p.clone(), read(&p))).collect();
    let mut found = 0;
    for document in ["ARCHITECTURE.md", "docs/durability.md"] {
        let text = read(&root.join(document)).split_whitespace().collect::<Vec<_>>().join(" ");
        // Text and code by turns. "`FILE`: `TEST`, `TEST`", or "`TEST` in `FILE`".
        let parts: Vec<&str> = text.split('`').collect();
        let mut file = "";
        for at in (1..parts.len() - 1).step_by(2) {
            let (code, behind) = (parts[at], parts[at + 1]);
            if code.ends_with(".rs") {
                file = if behind == ": " { code } else { "" };
            } else if is_test(code) {
                found += 1;
                let file = if behind == " in " { parts[at + 2] } else { file };
                let function = format!("fn {code}(");
                let mut named =
                    sources.iter().filter(|(path, _)| path.ends_with(file) || file.is_empty());
                let there = named.any(|(_, source)| source.contains(&function));
                assert!(there, "{document}: there is no test {code} in `{file}`");
            }
            if behind != ", " && behind != ": " {
                file = "";
            }
        }
    }
    assert!(found > 30, "the documents name tests, {found} of them");
}

/// Whether this is the name of a test: a sentence.
fn is_test(code: &str) -> bool {
    code.matches('_').count() > 3 && code.bytes().all(|b| b == b'_' || b.is_ascii_lowercase())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The project's documents, not those of what was built in its folder.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["docs", "examples", "fuzz"] {
        collect(&root().join(folder), "md", &mut found);
    }
    let top = std::fs::read_dir(root()).expect("the project");
    let top = top.map(|entry| entry.expect("an entry").path());
    found.extend(top.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    found
}

/// Puts the files below `folder` that end so into `found`.
fn collect(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, ending, found);
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
}

/// A document without its blocks of commands and output.
fn without_blocks(text: &str) -> String {
    text.split("\n```").step_by(2).collect()
}

/// What a link calls the headings of a document.
fn anchors(text: &str) -> Vec<String> {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let text = without_blocks(text);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let titles = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    let names: Vec<String> = titles
        .map(|title| title.chars().filter(kept).collect::<String>().replace(' ', "-"))
        .collect();
    // Of headings alike, those behind the first are numbered.
    let numbered =
        |(at, name): (usize, &String)| match names[..at].iter().filter(|n| *n == name).count() {
            0 => name.clone(),
            alike => format!("{name}-{alike}"),
        };
    names.iter().enumerate().map(numbered).collect()
}
