//! The media of a translation: the drive, and the device of its buffer, if that is another.

use shingle_core::units::{Block, Nanos, Op, Zone};
use shingle_drive::{Drive, Io, Served, Stamp, Zoned};
use shingle_translation::Place;

pub(super) struct Media {
    drive: Box<dyn Drive>,
    /// The device of the buffer, if it is not the start of the drive.
    cache: Option<Box<dyn Drive>>,
    /// Number of zones before the first sequential one, and its first block.
    conventional: u32,
    first_sequential: Block,
}

impl Media {
    /// Creates it over a drive with this number of conventional zones of `zone_blocks`, with the
    /// buffer at its start.
    pub(super) fn new(drive: Box<dyn Drive>, conventional: u32, zone_blocks: u64) -> Media {
        let first_sequential = Block(u64::from(conventional) * zone_blocks);
        Media { drive, cache: None, conventional, first_sequential }
    }

    pub(super) fn with_buffer_on(self, cache: Box<dyn Drive>) -> Media {
        Media { cache: Some(cache), ..self }
    }

    pub(super) fn drive(&self) -> &dyn Drive {
        self.drive.as_ref()
    }

    pub(super) fn drive_mut(&mut self) -> &mut dyn Drive {
        self.drive.as_mut()
    }

    /// Reads or writes at a location; takes no time if nothing is stored there.
    pub(super) fn serve(
        &mut self,
        now: Nanos,
        op: Op,
        (place, count): (Place, u64),
        data: &mut [Stamp],
    ) -> Served {
        let Some(block) = place.on_disk(self.first_sequential) else {
            return Served { done: now, ..Served::default() };
        };
        let on = match (&mut self.cache, place) {
            (Some(cache), Place::Buffer(_)) => cache,
            _ => &mut self.drive,
        };
        on.serve(now, &Io { op, block, count }, data)
    }

    pub(super) fn flush(&mut self, now: Nanos, io: &Io) -> Served {
        let mut served = self.drive.serve(now, io, &mut []);
        if let Some(cache) = &mut self.cache {
            served.then(&cache.serve(served.done, io, &mut []), false);
        }
        served
    }

    /// Writes at the write pointer of a sequential zone.
    pub(super) fn append(
        &mut self,
        now: Nanos,
        zone: Zone,
        count: u64,
        data: &mut [Stamp],
    ) -> Served {
        let at = Zone(self.conventional + zone.0);
        let refused = |why| panic!("an append of {count} blocks that the drive refuses: {why}");
        zoned(self.drive.as_mut()).append(now, at, count, data).unwrap_or_else(refused).1
    }

    pub(super) fn reset(&mut self, now: Nanos, zone: Zone) -> Served {
        let served = zoned(self.drive.as_mut()).reset(now, Zone(self.conventional + zone.0));
        served.unwrap_or_else(|why| panic!("a reset that the drive refuses: {why}"))
    }

    /// Fills a sequential zone with data from before.
    pub(super) fn fill(&mut self, zone: Zone) {
        let finished =
            zoned(self.drive.as_mut()).finish(Nanos::ZERO, Zone(self.conventional + zone.0));
        finished.unwrap_or_else(|why| panic!("a zone that the drive does not finish: {why}"));
    }

    /// Returns a copy in the same state.
    pub(super) fn copy(&self) -> Media {
        let cache = self.cache.as_ref().map(|cache| cache.copy());
        Media { drive: self.drive.copy(), cache, ..*self }
    }

    /// Panics if the write pointer of a sequential zone is not where `believed` says.
    pub(super) fn check(&self, zones: u32, believed: impl Fn(Zone) -> u64) {
        let mut drive = self.drive.copy();
        for zone in (0..zones).map(Zone) {
            let at = Zone(self.conventional + zone.0);
            let pointer = zoned(drive.as_mut()).zone(at).write_pointer;
            assert_eq!(pointer, believed(zone), "write pointer of sequential zone {}", zone.0);
        }
    }
}

fn zoned(drive: &mut dyn Drive) -> &mut dyn Zoned {
    drive.zoned().expect("checked when it was made: the drive exposes zones")
}
