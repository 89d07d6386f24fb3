//! The seam: a zoned disk, whatever it is made of.

use shingle_core::units::{Block, Zone};
use shingle_engine::Buffer;

use crate::error::{Operation, ZonedError};
use crate::geometry::Geometry;
use crate::zone::ZoneReport;

/// A zoned disk that is ours alone. Blocks have 4 KiB, and are counted from the start of the disk.
///
/// # Order
/// Calls block, and may come from many threads. Writes to one sequential zone go one after the other: there is never
/// more than one under way, and the write pointer moves when one is done. Whoever writes with [`ZonedDisk::write`] has
/// to send them in order; [`ZonedDisk::append`] says where its blocks went. Different zones do not wait for each other.
///
/// # Durable
/// What was written or finished before a [`ZonedDisk::flush`] began survives a power cut when that has returned without
/// error. What was not flushed may be lost: a write pointer is then anywhere between where it was at the last flush and
/// where it was at last, and what is below it is there. A reset that was not flushed may be lost, too. When a flush fails, what it
/// was to cover may be lost at once, and a later flush that succeeds says nothing of it: a report tells where write
/// pointers are.
///
/// # Errors
/// Each call fails with what broke a rule, which changes nothing, or with what the device says
/// ([`crate::Reason::Device`]). A write that failed so may have been carried out in part, and moved the write pointer.
///
/// # Below an asynchronous port
/// An engine does not wait. Its port keeps a queue for each zone that is being written, hands the first of each to one
/// of a few threads, and the next when that is done: one write a zone under way, several zones at once, reads beside
/// them. These calls are `&self` for that. Rules are checked when a call begins, and the pointer moves when it ends,
/// so a port over io_uring has the same two ends ([`crate::Zones::admit`], [`crate::Zones::advance`]) without threads.
pub trait ZonedDisk: Send + Sync {
    /// As it was named.
    fn name(&self) -> &str;

    /// What it is like.
    fn geometry(&self) -> &Geometry;

    /// Whether it is a file without a name: what it holds goes when nobody has it open any more.
    fn is_deleted(&self) -> bool {
        false
    }

    /// What zones are like now, from `first` on, `count` of them or as many as there are.
    ///
    /// # Errors
    /// If the disk ends before `first`, or the device fails.
    fn report(&self, first: Zone, count: u32) -> Result<Vec<ZoneReport>, ZonedError>;

    /// Reads blocks from `block` on. They may lie in several zones.
    ///
    /// # Errors
    /// See above.
    fn read(&self, block: Block, buffers: &mut [Buffer]) -> Result<(), ZonedError>;

    /// Writes blocks from `block` on: at the write pointer of a zone, or anywhere in conventional zones.
    ///
    /// # Errors
    /// See above.
    fn write(&self, block: Block, buffers: &[Buffer]) -> Result<(), ZonedError>;

    /// Writes blocks at the write pointer of a zone, and returns where that was.
    ///
    /// # Errors
    /// See above.
    fn append(&self, zone: Zone, buffers: &[Buffer]) -> Result<Block, ZonedError>;

    /// Carries out a command on a zone.
    ///
    /// # Errors
    /// See above.
    fn command(&self, command: ZoneCommand, zone: Zone) -> Result<(), ZonedError>;

    /// As [`ZoneCommand::Open`].
    ///
    /// # Errors
    /// See above.
    fn open(&self, zone: Zone) -> Result<(), ZonedError> {
        self.command(ZoneCommand::Open, zone)
    }

    /// As [`ZoneCommand::Close`].
    ///
    /// # Errors
    /// See above.
    fn close(&self, zone: Zone) -> Result<(), ZonedError> {
        self.command(ZoneCommand::Close, zone)
    }

    /// As [`ZoneCommand::Finish`].
    ///
    /// # Errors
    /// See above.
    fn finish(&self, zone: Zone) -> Result<(), ZonedError> {
        self.command(ZoneCommand::Finish, zone)
    }

    /// As [`ZoneCommand::Reset`].
    ///
    /// # Errors
    /// See above.
    fn reset(&self, zone: Zone) -> Result<(), ZonedError> {
        self.command(ZoneCommand::Reset, zone)
    }

    /// Makes durable what was written.
    ///
    /// # Errors
    /// If the device fails: see above.
    fn flush(&self) -> Result<(), ZonedError>;
}

/// A command on a zone. It moves no data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ZoneCommand {
    /// The zone stays open until it is closed, full or reset.
    Open,
    /// It is no longer open.
    Close,
    /// The write pointer moves to the end. What was not written may read as anything.
    Finish,
    /// The write pointer moves back to the start. What was in the zone is lost.
    Reset,
}

impl From<ZoneCommand> for Operation {
    fn from(command: ZoneCommand) -> Operation {
        match command {
            ZoneCommand::Open => Operation::Open,
            ZoneCommand::Close => Operation::Close,
            ZoneCommand::Finish => Operation::Finish,
            ZoneCommand::Reset => Operation::Reset,
        }
    }
}

/// What a call asks for, for its error.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) operation: Operation,
    pub(crate) block: Block,
    pub(crate) blocks: u64,
    pub(crate) zone: Option<Zone>,
}

impl Call {
    /// One that moves blocks.
    pub(crate) fn at(operation: Operation, block: Block, blocks: usize) -> Call {
        Call { operation, block, blocks: blocks as u64, zone: None }
    }

    /// One that names a zone, or none.
    pub(crate) fn of(operation: Operation, zone: Option<Zone>, geometry: &Geometry) -> Call {
        let block = zone.map_or(Block(0), |zone| geometry.first(zone));
        Call { operation, block, blocks: 0, zone }
    }

    /// It broke a rule.
    pub(crate) fn refused(self, device: &str, refused: crate::Refused) -> ZonedError {
        self.error(device, refused.zone, refused.reason)
    }

    /// The device failed.
    pub(crate) fn failed(
        self,
        device: &str,
        geometry: &Geometry,
        error: std::io::Error,
    ) -> ZonedError {
        let moves = self.blocks > 0;
        let zone = geometry.place(self.block).map(|(zone, _)| zone).filter(|_| moves);
        self.error(device, zone.or(self.zone), crate::Reason::Device(error))
    }

    fn error(self, device: &str, zone: Option<Zone>, reason: crate::Reason) -> ZonedError {
        let Call { operation, block, blocks, .. } = self;
        ZonedError {
            device: device.to_owned(),
            operation,
            zone: zone.or(self.zone),
            block,
            blocks,
            reason,
        }
    }
}
