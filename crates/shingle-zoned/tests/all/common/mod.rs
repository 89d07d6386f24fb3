//! Shared by tests: random commands, distinguishable blocks, and comparisons of disks.

#![allow(unreachable_pub)]

use std::path::Path;

use proptest::prelude::*;
use shingle_core::units::{Block, Zone};
use shingle_engine::Buffer;
use shingle_engine::buffer::Aligned;
use shingle_testbed::Loop;
use shingle_zoned::{Condition, Geometry, Reason, ZoneReport, ZonedDisk, ZonedError};

/// A block with its version in each part.
pub fn block(version: u64) -> Buffer {
    let mut buffer = Box::new(Aligned([0; 4096]));
    buffer.0.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&version.to_le_bytes()));
    buffer
}

/// The version of a block; `None` if its parts have several.
pub fn version(buffer: &Buffer) -> Option<u64> {
    let mut parts =
        buffer.0.chunks_exact(8).map(|part| u64::from_le_bytes(part.try_into().expect("8")));
    let first = parts.next()?;
    parts.all(|part| part == first).then_some(first)
}

pub fn blocks(versions: &[u64]) -> Vec<Buffer> {
    versions.iter().map(|&version| block(version)).collect()
}

/// Reads the versions of blocks.
pub fn read(disk: &dyn ZonedDisk, at: u64, count: u64) -> Result<Vec<u64>, ZonedError> {
    let mut buffers: Vec<Buffer> = (0..count).map(|_| block(u64::MAX)).collect();
    disk.read(Block(at), &mut buffers)?;
    Ok(buffers.iter().map(|buffer| version(buffer).expect("whole")).collect())
}

pub fn report(disk: &dyn ZonedDisk) -> Vec<ZoneReport> {
    disk.report(Zone(0), u32::MAX).expect("a report")
}

/// The name of the rule that was broken.
pub fn rule(error: &ZonedError) -> &'static str {
    match error.reason {
        Reason::NotAtPointer { .. } => "not at pointer",
        Reason::Torn { .. } => "torn",
        Reason::Boundary { .. } => "boundary",
        Reason::Full => "full",
        Reason::TooManyOpen { .. } => "too many open",
        Reason::TooManyActive { .. } => "too many active",
        Reason::Conventional => "conventional",
        Reason::ReadBeyond { .. } => "read beyond",
        Reason::ReadOnly => "read-only",
        Reason::Offline => "offline",
        Reason::OutOfRange { .. } => "out of range",
        Reason::Device(_) => "device",
        _ => "another",
    }
}

/// A command, with numbers that may be too large.
#[derive(Clone, Debug)]
pub enum Step {
    Write(u64, u64),
    /// At the write pointer of a zone, even if that is not allowed.
    AtPointer(u32, u64),
    Read(u64, u64),
    Finish(u32),
    Reset(u32),
    Flush,
}

pub fn steps(geometry: &Geometry, most: usize) -> impl Strategy<Value = Vec<Step>> + use<> {
    let (zones, zone_blocks, blocks) = (geometry.zones, geometry.zone_blocks, geometry.blocks());
    let zone = move || 0..zones;
    let step = prop_oneof![
        4 => (0..blocks, 1..=2 * zone_blocks + 1).prop_map(|(at, count)| Step::Write(at, count)),
        20 => (zone(), 1..=zone_blocks).prop_map(|(zone, count)| Step::AtPointer(zone, count)),
        4 => (0..blocks, 1..=blocks).prop_map(|(at, count)| Step::Read(at, count)),
        2 => zone().prop_map(Step::Finish),
        4 => zone().prop_map(Step::Reset),
        2 => Just(Step::Flush),
    ];
    prop::collection::vec(step, 1..most)
}

/// The zones as after a power cut.
pub fn settled(mut zones: Vec<ZoneReport>) -> Vec<ZoneReport> {
    for zone in &mut zones {
        if zone.condition.is_open() {
            let empty = zone.write_pointer == Some(0);
            zone.condition = if empty { Condition::Empty } else { Condition::Closed };
        }
    }
    zones
}

/// Resets all zones that have write pointers.
pub fn reset_all(disk: &dyn ZonedDisk) {
    for zone in report(disk).iter().filter(|zone| zone.condition != Condition::Conventional) {
        disk.reset(zone.zone).expect("reset");
    }
}

/// Writes at the write pointer of a zone.
pub fn at_pointer(disk: &dyn ZonedDisk, zone: Zone, data: &[Buffer]) -> Result<(), ZonedError> {
    let zone = disk.report(zone, 1)?[0];
    disk.write(zone.first.after(zone.write_pointer.unwrap_or(0)), data)
}

/// The result of a step: what was read, or the broken rule.
pub fn carry_out(
    disk: &dyn ZonedDisk,
    step: &Step,
    versions: &mut u64,
) -> Result<Vec<u64>, &'static str> {
    let mut data = |count: u64| {
        let first = *versions + 1;
        *versions += count;
        blocks(&(first..=*versions).collect::<Vec<_>>())
    };
    let done = match *step {
        Step::Write(at, count) => disk.write(Block(at), &data(count)).map(|()| Vec::new()),
        Step::AtPointer(zone, count) => {
            at_pointer(disk, Zone(zone), &data(count)).map(|()| Vec::new())
        }
        Step::Read(at, count) => read(disk, at, count),
        Step::Finish(zone) => disk.finish(Zone(zone)).map(|()| Vec::new()),
        Step::Reset(zone) => disk.reset(Zone(zone)).map(|()| Vec::new()),
        Step::Flush => disk.flush().map(|()| Vec::new()),
    };
    done.map_err(|error| rule(&error))
}

/// A block device without zones, full of old data, which must never be read: a loop device over a
/// file of `bytes` bytes.
///
/// # Errors
/// If tests may not use loop devices here.
pub fn plain_device(folder: &Path, bytes: u64) -> Result<Loop, String> {
    shingle_testbed::root()?;
    let file = folder.join("device");
    let old = (0..bytes).map(|at| 1 + (at % 251) as u8).collect::<Vec<_>>();
    std::fs::write(&file, old).map_err(|error| error.to_string())?;
    Loop::new(&file, &[])
}

/// A temporary folder on the disk of the build folder: others may be in memory, without direct I/O.
pub fn folder() -> tempfile::TempDir {
    let exe = std::env::current_exe().expect("a program");
    tempfile::tempdir_in(exe.parent().expect("its folder")).expect("a folder")
}
