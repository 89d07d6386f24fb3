//! Finds the files of a trace. blktrace writes a file for each CPU: `sda.blktrace.0`,
//! `sda.blktrace.1`, … The user names any of them, or their prefix.

use std::borrow::Cow;
use std::path::Path;

const CPUS_MAX: u32 = 65_536;

/// The most missing files in a row after which the search goes on.
const GAP_MAX: u32 = 256;

/// Splits a path into the text before the number of the CPU and the text after it (`.gz`).
fn split(path: &str) -> Option<(&str, &str)> {
    const MARK: &str = ".blktrace.";
    let at = path.rfind(MARK)? + MARK.len();
    let digits = path[at..].bytes().take_while(u8::is_ascii_digit).count();
    let end = &path[at + digits..];
    let is_end = end.is_empty() || (end.starts_with('.') && !end.contains('/'));
    (digits > 0 && is_end).then(|| (&path[..at], end))
}

/// Returns the non-empty files of all CPUs if `path` is one of them.
pub(super) fn all(path: &str) -> Vec<String> {
    let Some((front, end)) = split(path) else { return vec![path.to_owned()] };
    let found = numbered(front, end);
    // A path that is not found only looks like one of them.
    if found.iter().any(|name| name == path) { found } else { vec![path.to_owned()] }
}

fn numbered(front: &str, end: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut missing = 0;
    for cpu in 0..CPUS_MAX {
        let name = format!("{front}{cpu}{end}");
        match std::fs::metadata(Path::new(&name)) {
            Ok(there) => {
                missing = 0;
                if there.len() > 0 {
                    found.push(name);
                }
            }
            Err(_) => missing += 1,
        }
        if missing > GAP_MAX {
            break;
        }
    }
    found
}

/// Returns the file to open for the user's name; a prefix stands for the first file with events.
pub(crate) fn first_file(spec: &str) -> Cow<'_, str> {
    let exists = Path::new(spec).exists();
    let front = match split(spec) {
        // An empty file cannot be what the user meant.
        Some((front, end)) if exists => {
            let empty = std::fs::metadata(Path::new(spec)).is_ok_and(|there| there.len() == 0);
            if !empty {
                return Cow::Borrowed(spec);
            }
            return numbered(front, end).into_iter().next().map_or(Cow::Borrowed(spec), Cow::Owned);
        }
        _ if exists || spec == "-" => return Cow::Borrowed(spec),
        _ => spec.strip_suffix(".blktrace").unwrap_or(spec),
    };
    let first = numbered(&format!("{front}.blktrace."), "").into_iter().next();
    first.map_or(Cow::Borrowed(spec), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_file_stands_for_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
        for (name, bytes) in
            [("sda.blktrace.0", ""), ("sda.blktrace.1", "x"), ("sda.blktrace.3", "x")]
        {
            std::fs::write(path(name), bytes).expect("written");
        }
        let both = [path("sda.blktrace.1"), path("sda.blktrace.3")];
        assert_eq!(all(&path("sda.blktrace.3")), both);
        for named in ["sda", "sda.blktrace", "sda.blktrace.0", "sda.blktrace.1"] {
            assert_eq!(first_file(&path(named)), both[0], "{named}");
        }
        assert_eq!(first_file(&path("sda.blktrace.3")), both[1]);
        assert_eq!(first_file(&path("sdb")), path("sdb"));
        assert_eq!(all("a.blktrace.x"), ["a.blktrace.x"]);
    }
}
