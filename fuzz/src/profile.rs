//! What the fuzzer of drive profiles does: a file is read, planned with, and made into a drive that serves
//! a few requests.

use std::path::PathBuf;
use std::sync::LazyLock;

use shingle_core::units::{Block, Nanos, Op};
use shingle_drive::profile::{parse, read};
use shingle_drive::{Io, Settings, make};

/// A file of this process.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::temp_dir().join(format!("shingle-fuzz-{}.toml", std::process::id()))
});

/// Any bytes as a profile.
pub fn profile(bytes: &[u8]) {
    std::fs::write(&*FILE, bytes).expect("a file");
    let profile = match read(&FILE) {
        Ok(profile) => profile,
        Err(error) => return crate::one_line(&error),
    };
    assert_eq!(parse(&profile.to_text()).as_ref(), Ok(&profile));
    let _ = profile.plan();
    let name = format!("profile:{}", FILE.display());
    let mut drive = match make(&name, &Settings::default()) {
        Ok(drive) => drive,
        Err(error) => return crate::one_line(&error),
    };
    let blocks = drive.description().disk_blocks;
    let mut now = Nanos::ZERO;
    for (at, op) in [(0, Op::Write), (blocks / 2, Op::Write), (blocks - 1, Op::Read), (0, Op::Read)]
    {
        let io = Io { op, block: Block(at), count: 1 };
        let served = drive.serve(now, &io, &mut []);
        assert!(served.done >= now, "time goes on");
        now = served.done;
    }
    assert!(drive.drain(now) >= now);
    drive.check();
}
