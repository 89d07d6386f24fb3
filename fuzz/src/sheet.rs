//! What the fuzzer of sheets does: a file is read and held against its model. No drive is made of it: how much
//! memory that takes is what the sheet says.

use std::path::PathBuf;
use std::sync::LazyLock;

use shingle_drive::{SHEET, entry};

/// A file of this process.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::temp_dir().join(format!("shingle-fuzz-sheet-{}.toml", std::process::id()))
});

/// Any bytes as a sheet.
pub fn sheet(bytes: &[u8]) {
    std::fs::write(&*FILE, bytes).expect("a file");
    match entry(&format!("{SHEET}{}", FILE.display())) {
        Err(error) => crate::one_line(&error),
        Ok(known) => {
            assert!(!known.about.contains(char::is_control));
            for parameter in known.parameters() {
                assert!(!parameter.source.trim().is_empty(), "{} has no source", parameter.name);
            }
        }
    }
}
