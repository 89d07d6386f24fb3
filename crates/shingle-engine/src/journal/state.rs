//! Hashes the part of a journal's state that decides what it writes from now on.

use std::hash::{Hash, Hasher};

use super::{Journal, Pair, Write};
use crate::format::superblock::Superblock;

impl Journal {
    pub(crate) fn hash_state<H: Hasher>(&self, into: &mut H) {
        let Journal { superblock, table, open, sealed, next, last, durable, given_up, .. } = self;
        let Journal {
            pairs,
            written_next: _,
            next_superblock,
            new_settings,
            uneven,
            must_confirm,
            ..
        } = self;
        let Journal { last_records, confirmed, disk_bytes, unread: _, bugs: _, .. } = self;
        hash_superblock(superblock, into);
        (table, open, sealed).hash(into);
        (next, last, durable, given_up).hash(into);
        pairs.len().hash(into);
        for Pair { what, bytes, second, written, covered } in pairs {
            (what, second, written, covered, &bytes[..16]).hash(into);
        }
        next_superblock.is_some().hash(into);
        if let Some(next_superblock) = next_superblock {
            hash_superblock(next_superblock, into);
        }
        (new_settings, uneven, must_confirm, last_records, confirmed, disk_bytes).hash(into);
    }
}

/// Hashes what changes of a superblock while its cache is used.
fn hash_superblock<H: Hasher>(superblock: &Superblock, into: &mut H) {
    let Superblock { edition, journal_from, clean_from, dirty_from, clean, .. } = superblock;
    let Superblock { session, session_from, settings, .. } = superblock;
    (edition, journal_from, clean_from, dirty_from, clean).hash(into);
    (session, session_from, settings).hash(into);
}

impl Write {
    /// The first bytes contain the checksum of all.
    pub(crate) fn hash_state<H: Hasher>(&self, into: &mut H) {
        let Write { what, page: _, bytes } = self;
        (what, &bytes[..16]).hash(into);
    }
}
