//! Making a map whole again, and giving up no more than is gone.

use shingle_zoned::ZonedDisk;

use crate::bugs::Seeded;
use crate::error::OpenError;
use crate::inspect::{Inspected, inspect};
use crate::live::open;
use crate::saved::Reading;

/// Makes both copies of a map whole, each page of it from whichever copy has it. Where neither has a page of the checkpoint,
/// the blocks that only it knew of are lost from now on; this is done only if `give_up` is set. Returns what was found
/// before: [`Inspected::given_up_ranges`] says what is given up, or would be.
///
/// The map as it was stays where it is until the one after the next is written.
///
/// # Errors
/// If there is no map, if it cannot be repaired (nothing was changed), or if the disk fails.
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
        // (What a disk says of itself begins with its name.)
        let what = what.strip_prefix(&format!("{name}: ")).unwrap_or(&what).to_owned();
        Err(OpenError::Unusable { disk: name, what })
    })
}
