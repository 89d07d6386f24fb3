//! All of a journal that decides what it writes from now on, as a hash.

use std::hash::{Hash, Hasher};

use super::{Journal, Twice, Write};
use crate::format::superblock::Superblock;

impl Journal {
    pub(crate) fn hash_state<H: Hasher>(&self, into: &mut H) {
        let Journal { superblock, table, open, sealed, next, last, durable, given_up, .. } = self;
        let Journal { twice, written_next: _, coming, new_settings, uneven, must_confirm, .. } =
            self;
        let Journal { last_records, confirmed, disk_bytes, unread: _, bugs: _, .. } = self;
        hash_superblock(superblock, into);
        (table, open, sealed).hash(into);
        (next, last, durable, given_up).hash(into);
        twice.len().hash(into);
        for Twice { what, bytes, second, written, covered } in twice {
            (what, second, written, covered, &bytes[..16]).hash(into);
        }
        coming.is_some().hash(into);
        if let Some(coming) = coming {
            hash_superblock(coming, into);
        }
        (new_settings, uneven, must_confirm, last_records, confirmed, disk_bytes).hash(into);
    }
}

/// What of it changes while a cache is used.
fn hash_superblock<H: Hasher>(superblock: &Superblock, into: &mut H) {
    let Superblock { edition, journal_from, clean_from, dirty_from, clean, .. } = superblock;
    let Superblock { session, session_from, settings, .. } = superblock;
    (edition, journal_from, clean_from, dirty_from, clean).hash(into);
    (session, session_from, settings).hash(into);
}

impl Write {
    /// Its bytes are known by their checksum, which is among the first.
    pub(crate) fn hash_state<H: Hasher>(&self, into: &mut H) {
        let Write { what, page: _, bytes } = self;
        (what, &bytes[..16]).hash(into);
    }
}
