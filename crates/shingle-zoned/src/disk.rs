//! The trait of zoned disks.

use shingle_core::units::{Block, Zone};
use shingle_device::Device;
use shingle_engine::Buffer;

use crate::error::{Operation, ZonedError};
use crate::geometry::Geometry;
use crate::zone::ZoneReport;

/// A zoned disk that is locked by this process. Blocks have 4 KiB, and are counted from the start
/// of the disk.
///
/// # Order
/// Calls block, and may come from many threads. Writes to one sequential zone are serialized: at
/// most one is in flight, and the write pointer moves when it is done. Callers have to send them in
/// order. Different zones do not wait for each other.
///
/// # Durable
/// Blocks written, and zones finished, before a [`ZonedDisk::flush`] began survive a power cut
/// after the flush has succeeded. Without a flush they may be lost: a write pointer is then
/// anywhere between its place at the last flush and its last place, and the data below it is there.
/// An unflushed reset may be lost, too. If a flush fails, what it should cover may be lost at once,
/// and a later flush that succeeds does not cover it: a report returns the write pointers.
///
/// # Errors
/// Each call fails with the rule that it breaks, which changes nothing, or with the error of the
/// device ([`crate::Reason::Device`]). A write that fails on the device may have been carried out
/// in part, and may have moved the write pointer.
///
/// # Below an asynchronous port
/// An engine does not wait. Its port keeps a queue for each zone that is being written, passes the
/// first write of each queue to one of a few threads, and the next one when that is done: one write
/// a zone in flight, several zones at once, and reads in parallel. That is why these calls take
/// `&self`. Rules are checked at the start of a call, and the pointer moves at its end, so a port
/// over io_uring can use both parts ([`crate::Zones::admit`], [`crate::Zones::advance`]) without
/// threads.
pub trait ZonedDisk: Send + Sync {
    /// The path by which it was opened.
    fn name(&self) -> &str;

    /// The sizes, kinds and limits of its zones.
    fn geometry(&self) -> &Geometry;

    /// The file or block device that it is on, if any.
    fn backing(&self) -> Option<&Device> {
        None
    }

    /// Reports the current state of `count` zones from `first` on, or as many as there are.
    ///
    /// # Errors
    /// If the disk ends before `first`, or the device fails.
    fn report(&self, first: Zone, count: u32) -> Result<Vec<ZoneReport>, ZonedError>;

    /// Reads blocks, from `block` on. They may be in several zones.
    fn read(&self, block: Block, buffers: &mut [Buffer]) -> Result<(), ZonedError>;

    /// Writes blocks, from `block` on: at the write pointer of a zone, or anywhere in conventional
    /// zones.
    fn write(&self, block: Block, buffers: &[Buffer]) -> Result<(), ZonedError>;

    /// Carries out a command on a zone.
    fn command(&self, command: ZoneCommand, zone: Zone) -> Result<(), ZonedError>;

    /// As [`ZoneCommand::Finish`].
    fn finish(&self, zone: Zone) -> Result<(), ZonedError> {
        self.command(ZoneCommand::Finish, zone)
    }

    /// As [`ZoneCommand::Reset`].
    fn reset(&self, zone: Zone) -> Result<(), ZonedError> {
        self.command(ZoneCommand::Reset, zone)
    }

    /// Makes everything durable that was written.
    ///
    /// # Errors
    /// If the device fails: see above.
    fn flush(&self) -> Result<(), ZonedError>;
}

/// A command on a zone, which transfers no data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ZoneCommand {
    /// Move the write pointer to the end. Unwritten blocks may read as anything.
    Finish,
    /// Move the write pointer to the start. The content of the zone is lost.
    Reset,
}

impl From<ZoneCommand> for Operation {
    fn from(command: ZoneCommand) -> Operation {
        match command {
            ZoneCommand::Finish => Operation::Finish,
            ZoneCommand::Reset => Operation::Reset,
        }
    }
}

/// The parameters of a call, for its errors.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) operation: Operation,
    pub(crate) block: Block,
    pub(crate) blocks: u64,
    pub(crate) zone: Option<Zone>,
}

impl Call {
    /// A call that transfers blocks.
    pub(crate) fn at(operation: Operation, block: Block, blocks: usize) -> Call {
        Call { operation, block, blocks: blocks as u64, zone: None }
    }

    pub(crate) fn of(operation: Operation, zone: Option<Zone>, geometry: &Geometry) -> Call {
        let block = zone.map_or(Block(0), |zone| geometry.first(zone));
        Call { operation, block, blocks: 0, zone }
    }

    /// The error of a broken rule.
    pub(crate) fn refused(self, device: &str, refused: crate::Refused) -> ZonedError {
        self.error(device, refused.zone, refused.reason)
    }

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
