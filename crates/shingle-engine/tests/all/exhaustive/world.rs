//! A store as a state machine: the shipped engine, its devices, its clients, and the oracle that
//! knows the allowed contents of each block.

use std::hash::Hash;

use shingle_core::units::{BLOCK_BYTES, Block, Nanos};
use shingle_engine::format::layout::Copy;
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::{Frame, PAGE_BYTES, State};
use shingle_engine::recover::{Recovered, recover};
use shingle_engine::{
    Bug, Command, CommandOp, Config, Connection, Device, Engine, Io, Kind, Reply,
};

use super::cell::{Cell, Pieces};
use super::medium::{How, Medium, Pending};
use super::scope::{Fault, Scope, TICK, Want};
use crate::simulated::device::Gone;
use crate::simulated::oracle::{Oracle, name, stamp};

/// The possible events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// A client or an operator makes one of the requests of the scope.
    Ask { connection: u64, want: usize },
    /// An I/O completes: its index among those in flight, in the order of submission.
    Done { io: usize, how: How },
    /// Time passes.
    Tick,
    /// The SSD fails for good.
    SsdGone(usize),
    /// A bit of a frame flips.
    Flip(u32),
    /// A power cut, with the number of its outcome.
    Cut(u32),
    /// A kill of the process, with a bit for each page in flight: whether it arrives.
    Kill(u32),
    /// The process starts again.
    Start,
    /// It starts, and a power cut interrupts the write of the superblock: before this many halves
    /// of it.
    StartCut(u8),
    /// Late I/O of a killed process arrives: only with a seeded bug.
    Lands(usize),
    /// The owner inserts another SSD after the old one was released.
    PutIn,
    /// The SSD cannot be invalidated, and its owner promises not to serve it again.
    Abandon,
    /// Nothing is known about a failed SSD, and its owner cancels its replacement.
    KeepIn,
}

/// The ways in which an SSD fails for good.
pub(super) const WAYS_TO_GO: [Gone; 3] = [Gone::Silent, Gone::ReadOnly, Gone::Unflushed];

/// A serving process.
#[derive(Clone)]
pub(super) struct Up {
    pub(super) engine: Engine<Cell>,
    pub(super) now: Nanos,
    pub(super) pending: Vec<Pending>,
    /// Open connections: numbers 1 up to this one.
    pub(super) connections: u64,
    pub(super) stops: bool,
    /// The size in blocks to which the disk grows or has grown.
    pub(super) grows_to: u64,
}

/// The complete state.
#[derive(Clone)]
pub(crate) struct World {
    pub(super) scope: Scope,
    pub(super) bug: Option<Bug>,
    pub(super) ssd: Medium,
    pub(super) disk: Medium,
    pub(super) oracle: Oracle,
    /// The serving process; without one, why it is down.
    pub(super) up: Result<Up, Down>,
    /// How many of the scope's requests, crashes and faults have been used.
    pub(super) asked: u8,
    pub(super) crashes: u8,
    pub(super) faults: u8,
    /// Number of commands of each connection.
    pub(super) commands: [u8; 4],
    pub(super) late: Vec<Pending>,
    /// The SSD must not be served again, whatever its superblock says.
    pub(super) abandoned: bool,
    /// The size of the disk according to the last superblock.
    pub(super) disk_blocks: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Down {
    Cut,
    Killed,
    /// It has stopped in order.
    Stopped,
}

/// The bytes of a torn write that arrive. For metadata: the beginning of the head with the
/// checksum, which stands for any part. For data on the disk: a sector.
const TORN_BYTES: (usize, usize) = (32, 512);

impl World {
    pub(crate) fn new(scope: Scope) -> World {
        World::with(scope, None)
    }

    pub(crate) fn with(scope: Scope, bug: Option<Bug>) -> World {
        let blocks = (0..scope.blocks).map(|block| Cell::of(&stamp(block, 0))).collect();
        let torn = scope.tears.1.then_some(TORN_BYTES.1);
        let disk = Medium::new(Device::Disk, blocks, torn);
        let mut oracle = Oracle::new(scope.blocks);
        oracle.may_fail = scope.faults.0 > 0;
        oracle.may_tear = scope.tears.1;
        let world = World {
            scope,
            bug,
            ssd: empty_ssd(&scope, scope.blocks, 1),
            disk: if scope.together { disk.together_from(0) } else { disk },
            oracle,
            up: Err(Down::Stopped),
            asked: 0,
            crashes: 0,
            faults: 0,
            commands: [0; 4],
            late: Vec::new(),
            abandoned: false,
            disk_blocks: scope.blocks,
        };
        let world = world.started();
        scope.prelude.iter().fold(world, |world, &want| world.lived_through(want))
    }

    /// Executes a request before the exploration: everything succeeds, in order.
    fn lived_through(mut self, want: Want) -> World {
        self.want(1, want);
        self.effects();
        for _ in 0..10_000 {
            match &mut self.up {
                Err(_) => self = self.started(),
                Ok(up) if up.pending.is_empty() => {
                    let done = self.oracle.under_way() == 0 && !up.stops;
                    let waits = want == Want::Drain && up.engine.status().dirty_blocks > 0;
                    if done && !waits {
                        self.commands = [0; 4];
                        return self;
                    }
                    up.now = Nanos(up.now.0 + TICK.0);
                    up.engine.tick(up.now);
                    self.effects();
                }
                Ok(_) => {
                    self.done(0, How::Well);
                    self.effects();
                }
            }
        }
        panic!("{want:?} comes to no end before anything is explored")
    }

    pub(super) fn config(&self) -> Config {
        let Scope { slots, mode, depth, trim_passdown, .. } = self.scope;
        let mut config = Config::new(mode, slots);
        config.depth = depth;
        config.trim_passdown = trim_passdown;
        config.piece_blocks = 1;
        config.rules.sequential_bytes = None;
        config.rules.room_slots = 0;
        config.rules.room_timeout = Nanos::NEVER;
        config.bug = self.bug;
        config
    }

    pub(super) fn has_fault(&self, fault: Fault) -> bool {
        self.faults < self.scope.faults.0 && self.scope.faults.1.contains(&fault)
    }

    pub(super) fn medium(&self, device: Device) -> &Medium {
        if device == Device::Ssd { &self.ssd } else { &self.disk }
    }

    /// Recovers the SSD; what is found must be allowed.
    fn found(&mut self, power: bool) -> Recovered {
        let found = recover(&mut self.ssd).expect("a crash damages nothing that was flushed");
        for (block, frame) in found.live() {
            let entry = found.journal.table.entry(frame);
            let page = self.ssd.cell(self.scope.layout().frame_page(frame)).page();
            if entry.state == State::Clean && crc32c::crc32c(&page) == entry.crc {
                let disk = self.disk.cell(block.0).page();
                assert!(
                    page == disk,
                    "block {} is said to be clean: the SSD has {}, the disk {}",
                    block.0,
                    name(&page),
                    name(&disk)
                );
            }
        }
        let (ssd, disk) = (&self.ssd, &self.disk);
        self.oracle.cut(|block| page_of(&found, ssd, disk, block), power);
        found
    }

    pub(super) fn started(mut self) -> World {
        let down = self.up.as_ref().err().copied().expect("it is down");
        let mut found = self.found(down != Down::Killed);
        for write in found.journal.mark_in_use() {
            self.ssd.keep(write.page, Cell::of(&write.bytes));
        }
        // (The disk may have been about to grow.)
        let blocks = found.journal.superblock().disk_bytes / BLOCK_BYTES;
        assert!(blocks >= self.disk_blocks, "the disk has shrunk");
        self.disk_blocks = blocks;
        let engine = Engine::open(found, self.scope.cache(blocks), blocks, self.config())
            .expect("what was found makes sense");
        self.up = Ok(Up {
            engine,
            now: Nanos::ZERO,
            pending: Vec::new(),
            connections: 0,
            stops: false,
            grows_to: 0,
        });
        for _ in 0..self.scope.connections {
            self.connect();
        }
        self.effects();
        self
    }

    pub(super) fn connect(&mut self) {
        let up = self.up.as_mut().expect("it is up");
        up.connections += 1;
        let connection = Connection(up.connections);
        self.oracle.opened(connection);
        up.engine.connection_opened(connection);
    }

    /// A power cut while the superblock is written, after this many halves.
    pub(super) fn start_cut(mut self, halves: u8) -> World {
        let down = self.up.as_ref().err().copied().expect("it is down");
        let mut found = self.found(down != Down::Killed);
        let [one, other] = found.journal.mark_in_use();
        let (first, second) = (Cell::of(&one.bytes), Cell::of(&other.bytes));
        match halves {
            0 => self.ssd.tear(one.page, first),
            1 => self.ssd.keep(one.page, first),
            _ => {
                self.ssd.keep(one.page, first);
                self.ssd.tear(other.page, second);
            }
        }
        // (Unflushed data of a killed process is still volatile: it may be lost later.)
        self.crashes += 1;
        self
    }

    /// Handles the effects of the engine.
    pub(super) fn effects(&mut self) {
        let up = self.up.as_mut().expect("it is up");
        let effects = up.engine.take_effects();
        assert!(!up.engine.has_missed_step(), "what can be done now is left to the next event");
        if up.grows_to > 0 {
            self.disk_blocks = up.engine.status().disk_blocks;
        }
        for io in effects.ios {
            let medium = if io.device == Device::Ssd { &self.ssd } else { &self.disk };
            up.pending.push(medium.begin(io));
        }
        for Reply { id, result } in effects.replies {
            let gone = self.scope.faults.0 > 0 && up.engine.status().errors.ssd_failed;
            let result = result.map(|pieces| bytes_of(&pieces));
            self.oracle.answered(&Reply { id, result }, gone);
        }
        if up.stops && up.engine.is_stopped() {
            self.has_stopped();
        } else if up.stops && up.engine.is_failed_and_idle() {
            // Its owner gives up.
            self.up = Err(Down::Killed);
        }
    }

    /// After an orderly shutdown: everything is durable, and the journal has nothing to replay.
    fn has_stopped(&mut self) {
        let up = self.up.as_ref().expect("it was up");
        assert!(up.pending.is_empty(), "I/O is under way after the end");
        for medium in [&self.ssd, &self.disk] {
            assert!(
                medium.left_by_cut(&[]).is_empty(),
                "a power cut after the end takes something"
            );
        }
        let lost = up.engine.status().lost;
        let found = recover(&mut self.ssd).expect("it was shut down in order");
        assert!(found.clean, "it was shut down in order");
        assert_eq!((found.replayed_pages, found.corrections.len()), (0, 0));
        self.oracle.check_all(false, |block| {
            let lost = lost.contains(&Block(block));
            page_of(&found, &self.ssd, &self.disk, block).filter(|_| !lost)
        });
        self.up = Err(Down::Stopped);
    }

    pub(super) fn ask(&mut self, connection: u64, want: usize) {
        self.asked += 1;
        self.want(connection, self.scope.wants[want]);
    }

    fn want(&mut self, connection: u64, want: Want) {
        let up = self.up.as_mut().expect("it is up");
        let (op, first, blocks, fua) = match want {
            Want::Write(block) | Want::WriteHalf(block) => (CommandOp::Write, block, 1, false),
            Want::WriteMany(block, blocks) => (CommandOp::Write, block, blocks, false),
            Want::WriteFua(block) => (CommandOp::Write, block, 1, true),
            Want::ZeroesFua(block) => (CommandOp::WriteZeroes, block, 1, true),
            Want::Trim(block) => (CommandOp::Trim, block, 1, false),
            Want::Read(block) => (CommandOp::Read, block, 1, false),
            Want::Flush => (CommandOp::Flush, 0, 0, false),
            Want::Mode(mode) => return up.engine.set_mode(mode),
            Want::Drain => return up.engine.drain(),
            Want::Swap => {
                let cache = self.scope.cache(up.engine.status().disk_blocks);
                return up.engine.set_cache(cache).expect("it is as large");
            }
            Want::Replace => return up.engine.take_ssd_out(false),
            Want::Grow => return self.grow(),
            Want::Stop => {
                up.stops = true;
                return up.engine.shut_down();
            }
            Want::Connect => return self.connect(),
        };
        let half = matches!(want, Want::WriteHalf(_));
        let bytes = if half { BLOCK_BYTES / 2 } else { blocks * BLOCK_BYTES };
        let number = &mut self.commands[connection as usize];
        *number += 1;
        let id = connection * 100 + u64::from(*number);
        let offset = first * BLOCK_BYTES;
        let connection = Connection(connection);
        let mut command = Command { id, connection, op, offset, bytes, fua, data: Vec::new() };
        self.oracle.ask_as(&mut command, id);
        let data = pieces_of(&command.data);
        up.engine.submit(Command { id, connection, op, offset, bytes, fua, data });
    }

    /// Whether this is a metadata write in flight. The writes of one commit complete together: the
    /// engine only counts them until all are done, and a crash before that can undo any of them. So
    /// one-by-one completion adds nothing, as `together.rs` checks.
    pub(super) fn is_metadata(&self, pending: &Pending) -> bool {
        let Io { device, kind, page, .. } = pending.io;
        let frames = self.scope.layout().frame_page(Frame(0));
        device == Device::Ssd && kind == Kind::Write && page < frames
    }

    pub(super) fn done(&mut self, io: usize, how: How) {
        let together = how == How::Well && !self.scope.one_by_one;
        if together && self.pending().get(io).is_some_and(|one| self.is_metadata(one)) {
            let count = self.pending().len();
            for io in (0..count).rev() {
                if self.is_metadata(&self.pending()[io]) {
                    self.done_one(io, how);
                }
            }
        } else {
            self.done_one(io, how);
        }
    }

    fn done_one(&mut self, io: usize, how: How) {
        self.faults += u8::from(how != How::Well);
        let up = self.up.as_mut().expect("it is up");
        let mut pending = up.pending.remove(io);
        let device = pending.io.device;
        let medium = if device == Device::Ssd { &mut self.ssd } else { &mut self.disk };
        let result = medium.end(&mut pending, &mut up.pending, how);
        self.ssd.take_lost();
        // Data that the disk has lost cannot be restored, unless the SSD has it.
        for (block, left) in self.disk.take_lost() {
            let dirty = up.engine.dirty_runs(Block(block), 1) == [(1, true)];
            if !dirty {
                self.oracle.lose(block, &left.page());
            } else if self.oracle.is_being_written(block) {
                self.oracle.may_lack(block);
            }
        }
        up.engine.io_done(pending.io.id, result, pending.io.buffers);
    }

    pub(super) fn pending(&self) -> &[Pending] {
        self.up.as_ref().map_or(&[], |up| &up.pending)
    }
}

/// An SSD with a new cache.
pub(super) fn empty_ssd(scope: &Scope, disk_blocks: u64, edition: u64) -> Medium {
    let layout = scope.layout();
    let mut pages = vec![Cell::ZEROS; layout.pages() as usize];
    let bytes = (layout.pages() * PAGE_BYTES as u64, disk_blocks * BLOCK_BYTES);
    let new = Superblock::new(*b"a cache for test", layout, bytes.0, bytes.1);
    let superblock = Cell::of(&Superblock { edition, ..new }.encode());
    for copy in Copy::BOTH {
        pages[copy.superblock_page() as usize] = superblock;
    }
    let ssd = Medium::new(Device::Ssd, pages, scope.tears.0.then_some(TORN_BYTES.0));
    match scope.together {
        true => ssd.together_from(layout.frame_page(Frame(0)) as usize),
        false => ssd,
    }
}

/// The contents of a block; `None` if it is known to be damaged.
fn page_of(
    found: &Recovered,
    ssd: &Medium,
    disk: &Medium,
    block: u64,
) -> Option<shingle_engine::format::Page> {
    let mut live = found.live().filter(|(cached, _)| cached.0 == block);
    let Some((_, frame)) = live.next() else { return Some(disk.cell(block).page()) };
    assert!(live.next().is_none(), "block {block} is in two frames");
    let entry = found.journal.table.entry(frame);
    let page = ssd.cell(found.journal.layout().frame_page(frame)).page();
    match crc32c::crc32c(&page) == entry.crc {
        true => Some(page),
        false if entry.state == State::Clean => Some(disk.cell(block).page()),
        false => None,
    }
}

fn bytes_of(pieces: &Pieces) -> Vec<u8> {
    let mut bytes: Vec<u8> = pieces.cells.iter().flat_map(|cell| cell.page()).collect();
    bytes.truncate(pieces.bytes as usize);
    bytes
}

/// The pieces of a write that begins at a block boundary.
fn pieces_of(data: &[u8]) -> Pieces {
    let page = |bytes: &[u8]| {
        let mut page = [0; PAGE_BYTES];
        page[..bytes.len()].copy_from_slice(bytes);
        Cell::of(&page)
    };
    Pieces { bytes: data.len() as u64, cells: data.chunks(PAGE_BYTES).map(page).collect() }
}
