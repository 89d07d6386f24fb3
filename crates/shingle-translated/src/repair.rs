//! Repairs a map, and gives up no more than is lost.

use shingle_zoned::ZonedDisk;

use crate::bugs::Seeded;
use crate::error::OpenError;
use crate::inspect::{Inspected, inspect};
use crate::live::open;
use crate::saved::Reading;

/// Repairs both copies of a map, each page from the copy that has it. If neither has a page of the
/// checkpoint, the blocks recorded only there are lost from now on; this is done only if `give_up`
/// is set. Returns the findings from before: [`Inspected::given_up_ranges`] says what is given up,
/// or would be.
///
/// The old map stays in place until the second next one is written.
///
/// # Errors
/// If there is no map, if it cannot be repaired (then nothing was changed), or if the disk fails.
pub fn repair(disk: Box<dyn ZonedDisk>, give_up: bool) -> Result<Inspected, OpenError> {
    let found = inspect(&*disk)?;
    let name = disk.name().to_owned();
    let reading = match (&found.damage, &found.given_up_ranges) {
        (None, _) => Reading::Whole,
        (Some(_), Some(_)) if give_up => Reading::WithHoles,
        (Some(_), Some(_)) => return Ok(found),
        (Some(what), None) => return Err(OpenError::Damaged { disk: name, what: what.clone() }),
    };
    let live = open(disk, reading, Seeded::default())?;
    let failed = match live.status().failed {
        Some(what) => Some(what),
        None => live.close().err().map(|error| error.to_string()),
    };
    failed.map_or(Ok(found), |what| {
        // The disk's own errors begin with its name.
        let what = what.strip_prefix(&format!("{name}: ")).unwrap_or(&what).to_owned();
        Err(OpenError::Unusable { disk: name, what })
    })
}
