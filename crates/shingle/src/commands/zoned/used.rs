//! A disk that is in use: asks its server, or names the user.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use shingle_store::store::control::{self, Answer, ControlError, Request, Telling};
use shingle_translated::cache_of;

use crate::commands::uuid_given;
use crate::output::note;

/// How long the process of a server that has stopped may take to end.
const END_MAX: Duration = Duration::from_secs(5);

/// Sends `request` to the server of a disk. By its UUID that is reached also if the disk hangs, or is
/// gone.
pub(super) fn ask(disk: &Path, request: &Request) -> anyhow::Result<Answer> {
    if let Some(uuid) = uuid_given(disk) {
        return ask_at(&control::socket(uuid), request);
    }
    let name = disk.display().to_string();
    let reading = Telling::begin(move || {
        note(
            &format!(
                "{name} does not answer; in its place the UUID that `shingle zoned serve` has printed reaches the server"
            ),
            false,
        );
        true
    });
    // (The UUID can be read also while the disk is in use.)
    let uuid = shingle_translated::uuid(&shingle_zoned::open_read_only(disk)?)?;
    let socket = control::socket(uuid);
    // (A copy of a disk has the same UUID, and a server may use the other one.)
    if !shingle_zoned::is_in_use(disk)? {
        return Err(ControlError::NotServed(socket).into());
    }
    reading.end();
    ask_at(&socket, request)
}

/// Sends `request` to a server; what that waits for meanwhile is shown.
fn ask_at(socket: &Path, request: &Request) -> anyhow::Result<Answer> {
    let mut told = |answer: &Answer| {
        if let Answer::Waits(why) = answer {
            note(why, false);
        }
    };
    Ok(control::ask(socket, &mut told, request)?)
}

/// Returns whether a request failed because the disk is not served.
fn is_not_served(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(ControlError::NotServed(_)))
}

/// Whether a request failed because the disk is not served, and the disk itself can be looked at.
pub(super) fn is_unserved(disk: &Path, error: &anyhow::Error) -> bool {
    is_not_served(error) && uuid_given(disk).is_none()
}

/// Waits until the disk of a server that has stopped is free: the process ends a little after its
/// answer. Not for long, as another process may be using the disk by now.
pub(super) fn wait_until_free(disk: &Path) {
    let begun = Instant::now();
    while shingle_zoned::is_in_use(disk).is_ok_and(|used| used) && begun.elapsed() < END_MAX {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Refuses a disk that is in use, and says how to ask or stop its server.
pub(super) fn refuse_used(disk: &Path) -> anyhow::Result<()> {
    if !shingle_zoned::is_in_use(disk)? {
        return Ok(());
    }
    let (name, is_served) = (disk.display(), ask(disk, &Request::Status).is_ok());
    if is_served {
        bail!(
            "{name} is served: `shingle zoned status {name}` tells how it is, and `shingle zoned stop {name}` ends that"
        );
    }
    if let Ok(Some(cache)) = cache_of(&shingle_zoned::open_read_only(disk)?) {
        bail!(
            "{name} is in use, and belongs to cache {cache}: `shingle store status --cache {cache}` tells how both are, and \
             `shingle store stop --cache {cache}` ends that; if another user serves it, ask as that user, with the same \
             XDG_RUNTIME_DIR"
        );
    }
    bail!(
        "{name} is in use by another process; if another user serves it, ask as that user, with the same XDG_RUNTIME_DIR"
    );
}
