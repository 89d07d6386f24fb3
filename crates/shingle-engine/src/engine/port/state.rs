//! Hashes the I/O that is queued and in flight, without its ids.

use std::hash::{Hash, Hasher};

use super::super::state::{View, unordered};
use super::{Completion, Io, Port, UnderWay};
use crate::data::Data;

impl<D: Data> Port<D> {
    pub(in super::super) fn hash_state<H: Hasher + Default>(&self, view: &View, into: &mut H) {
        let Port { ios: _, issued, queued: _, under_way, pool: _, ssd_written: _, .. } = self;
        let Port { lists: _, many: _, bugs: _, .. } = self;
        issued.hash(into);
        for (Io { id: _, device, kind, page, buffers }, completions) in self.queued() {
            (device, kind, page).hash(into);
            completions.as_slice().iter().for_each(|one| one.hash_state(view, into));
            buffers.iter().for_each(|buffer| buffer.crc().hash(into));
        }
        unordered(under_way.iter(), into, |(_, io), into| {
            // Only the policy uses the time of an I/O, and it keeps nothing of it.
            let UnderWay { device, kind, page, completions, since: _, repeat } = io;
            (device, kind, page, repeat).hash(into);
            completions.as_slice().iter().for_each(|one| one.hash_state(view, into));
        });
    }
}

impl Completion {
    fn hash_state<H: Hasher>(self, view: &View, into: &mut H) {
        std::mem::discriminant(&self).hash(into);
        match self {
            Completion::FrameRead(op)
            | Completion::DiskRead(op)
            | Completion::FrameWritten(op)
            | Completion::DiskWritten(op) => (view.op)(op).hash(into),
            Completion::DestageRead(job) | Completion::Destaged(job) => (view.job)(job).hash(into),
            Completion::BandRead(place)
            | Completion::BandSlotRead(place)
            | Completion::BandWritten(place) => place.hash(into),
            Completion::Meta(what) => what.hash(into),
            Completion::SsdFlushed
            | Completion::InvalidationWritten
            | Completion::DiskFlushed
            | Completion::Trimmed => {}
        }
    }
}
