//! All that is dirty goes to the disk, while somebody waits.

use std::io;
use std::thread;
use std::time::Duration;

use crate::backend::Handle;

/// Waits until nothing is dirty, and tells now and then how many blocks are. Blocks whose data is lost
/// do not count: they never will be clean.
///
/// # Errors
/// If data is lost, the disk takes nothing, or `left` fails.
pub fn drain(handle: &Handle, left: &mut dyn FnMut(u64) -> io::Result<()>) -> io::Result<()> {
    /// Without a block destaged for so long there is something wrong with the disk.
    const PATIENCE: Duration = Duration::from_secs(120);
    /// Or, if the SSD has failed, with what it still gives.
    const PATIENCE_GONE: Duration = Duration::from_secs(10);
    const STEP: Duration = Duration::from_millis(50);
    handle.drain(true);
    let (mut least, mut idle) = (u64::MAX, Duration::ZERO);
    let outcome = loop {
        let Some(status) = handle.status() else {
            break Err(io::Error::other("the store has ended"));
        };
        let lost = status.lost.len() as u64;
        let dirty = status.dirty_blocks.saturating_sub(lost);
        if dirty == 0 && lost > 0 {
            break Err(io::Error::other(format!(
                "the data of {lost} dirty blocks is lost, and all else is on the disk; `shingle store status` and \
                 `check` list them, and what is written again to them is no longer lost"
            )));
        }
        if dirty == 0 {
            break Ok(());
        }
        if dirty < least {
            (least, idle) = (dirty, Duration::ZERO);
        }
        if idle > PATIENCE || status.errors.ssd_failed && idle > PATIENCE_GONE {
            let who = if status.errors.ssd_failed {
                "the SSD has failed"
            } else {
                "the disk takes nothing"
            };
            let told = format!("{who}; {dirty} blocks stay dirty");
            break Err(io::Error::other(told));
        }
        if let Err(error) = left(dirty) {
            break Err(error);
        }
        thread::sleep(STEP);
        idle += STEP;
    };
    handle.drain(false);
    outcome
}
