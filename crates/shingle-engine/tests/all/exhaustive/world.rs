//! A store that stands still: the shipped engine, its devices, its clients, and who knows what each block may be.

use std::hash::{Hash, Hasher};

use shingle_core::units::{BLOCK_BYTES, Block, Nanos};
use shingle_engine::format::layout::Copy;
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::{Frame, PAGE_BYTES, State};
use shingle_engine::recover::{Recovered, recover};
use shingle_engine::{
    Bug, Command, CommandOp, Config, Connection, Device, Engine, Io, Kind, Reply,
};
use shingle_testbed::explore::{Digest, Model};

use super::cell::{Cell, Pieces};
use super::medium::{How, Medium, Pending};
use super::scope::{Fault, Scope, TICK, Want};
use crate::simulated::device::Gone;
use crate::simulated::oracle::{Oracle, name, stamp};

/// What may happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// A client, or an operator, wants one of the wants of the scope.
    Ask { connection: u64, want: usize },
    /// I/O ends: which of those under way, in the order in which they were begun.
    Done { io: usize, how: How },
    /// Time passes.
    Tick,
    /// The SSD fails for good.
    SsdGone(usize),
    /// A bit of a frame flips.
    Flip(u32),
    /// The power goes. What it leaves, of all that it may, by number.
    Cut(u32),
    /// The process is killed. Which of the pages under way arrive, a bit each.
    Kill(u32),
    /// It starts again.
    Start,
    /// It starts, and the power goes while it says so on the SSD: before so many halves of that.
    StartCut(u8),
    /// I/O of a process that was killed arrives late: with a seeded bug only.
    Lands(usize),
}

/// How an SSD fails for good.
const WAYS_TO_GO: [Gone; 3] = [Gone::Silent, Gone::ReadOnly, Gone::Unflushed];

/// More outcomes of one power cut are too many to be tried: no scope has as many.
const OUTCOMES_MAX: usize = 1 << 20;

/// A process that serves.
#[derive(Clone)]
struct Up {
    engine: Engine<Cell>,
    now: Nanos,
    pending: Vec<Pending>,
    /// Connections that are open: from number 1 on.
    connections: u64,
    stops: bool,
}

/// Everything.
#[derive(Clone)]
pub(crate) struct World {
    scope: Scope,
    bug: Option<Bug>,
    ssd: Medium,
    disk: Medium,
    oracle: Oracle,
    /// Nobody serves, after the power went or the process was killed: which of the two.
    up: Result<Up, Down>,
    /// How many were used of what the scope has.
    asked: u8,
    crashes: u8,
    faults: u8,
    /// Commands of each connection.
    commands: [u8; 4],
    late: Vec<Pending>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Down {
    Cut,
    Killed,
    /// It has stopped in order.
    Stopped,
}

/// Of a write that is torn so many bytes arrive: of metadata the beginning of the head with the checksum, which stands for
/// any part; of data on the disk a sector.
const TORN_BYTES: (usize, usize) = (32, 512);

impl World {
    pub(crate) fn new(scope: Scope) -> World {
        World::with(scope, None)
    }

    pub(crate) fn with(scope: Scope, bug: Option<Bug>) -> World {
        let layout = scope.layout();
        let mut pages = vec![Cell::ZEROS; layout.pages() as usize];
        let bytes = (layout.pages() * PAGE_BYTES as u64, scope.blocks * BLOCK_BYTES);
        let superblock = Superblock::new(*b"a cache for test", layout, bytes.0, bytes.1);
        for copy in Copy::BOTH {
            pages[copy.superblock_page() as usize] = Cell::of(&superblock.encode());
        }
        let blocks = (0..scope.blocks).map(|block| Cell::of(&stamp(block, 0))).collect();
        let ssd_torn = scope.tears.0.then_some(TORN_BYTES.0);
        let disk_torn = scope.tears.1.then_some(TORN_BYTES.1);
        let mut oracle = Oracle::new(scope.blocks);
        oracle.may_fail = scope.faults.0 > 0;
        oracle.may_tear = scope.tears.1;
        World {
            scope,
            bug,
            ssd: Medium::new(Device::Ssd, pages, ssd_torn),
            disk: Medium::new(Device::Disk, blocks, disk_torn),
            oracle,
            up: Err(Down::Stopped),
            asked: 0,
            crashes: 0,
            faults: 0,
            commands: [0; 4],
            late: Vec::new(),
        }
        .started()
    }

    fn config(&self) -> Config {
        let Scope { slots, mode, depth, room_slots, .. } = self.scope;
        let mut config = Config::in_mode(mode, slots);
        config.depth = depth;
        config.rules.sequential_bytes = None;
        config.rules.room_slots = room_slots;
        config.rules.room_timeout = Nanos::NEVER;
        config.bug = self.bug;
        config
    }

    fn has_fault(&self, fault: Fault) -> bool {
        self.faults < self.scope.faults.0 && self.scope.faults.1.contains(&fault)
    }

    fn medium(&self, device: Device) -> &Medium {
        if device == Device::Ssd { &self.ssd } else { &self.disk }
    }

    /// What is found on the SSD must be allowed.
    fn found(&mut self, power: bool) -> Recovered {
        let found = recover(&mut self.ssd).expect("a crash damages nothing that was flushed");
        for &(block, frame) in &found.live {
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

    fn started(mut self) -> World {
        let down = self.up.as_ref().err().copied().expect("it is down");
        let mut found = self.found(down != Down::Killed);
        for write in found.journal.put_into_use() {
            self.ssd.keep(write.page, Cell::of(&write.bytes));
        }
        let config = self.config();
        let engine = Engine::open(found, self.scope.cache(), self.scope.blocks, config)
            .expect("what was found makes sense");
        self.up =
            Ok(Up { engine, now: Nanos::ZERO, pending: Vec::new(), connections: 0, stops: false });
        for _ in 0..self.scope.connections {
            self.connect();
        }
        self.effects();
        self
    }

    fn connect(&mut self) {
        let up = self.up.as_mut().expect("it is up");
        up.connections += 1;
        let connection = Connection(up.connections);
        self.oracle.opened(connection);
        up.engine.opened(connection);
    }

    /// The power goes while the superblock is written: half by half.
    fn start_cut(mut self, halves: u8) -> World {
        let down = self.up.as_ref().err().copied().expect("it is down");
        let mut found = self.found(down != Down::Killed);
        let [one, other] = found.journal.put_into_use();
        let (first, second) = (Cell::of(&one.bytes), Cell::of(&other.bytes));
        match halves {
            0 => self.ssd.tear(one.page, first),
            1 => self.ssd.keep(one.page, first),
            _ => {
                self.ssd.keep(one.page, first);
                self.ssd.tear(other.page, second);
            }
        }
        // (What a process that was killed left unflushed is as it was: it may go later.)
        self.crashes += 1;
        self
    }

    /// What the engine wants from outside.
    fn effects(&mut self) {
        let up = self.up.as_mut().expect("it is up");
        let effects = up.engine.take();
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
        } else if up.stops && up.engine.can_do_no_more() {
            // Its owner gives up.
            self.up = Err(Down::Killed);
        }
    }

    /// It was shut down in order: all is there, and nothing is to be replayed.
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

    fn ask(&mut self, connection: u64, want: usize) {
        self.asked += 1;
        let up = self.up.as_mut().expect("it is up");
        let (op, first, blocks, fua) = match self.scope.wants[want] {
            Want::Write(block) | Want::WriteHalf(block) => (CommandOp::Write, block, 1, false),
            Want::WriteMany(block, blocks) => (CommandOp::Write, block, blocks, false),
            Want::WriteFua(block) => (CommandOp::Write, block, 1, true),
            Want::Zeroes(block) => (CommandOp::WriteZeroes, block, 1, false),
            Want::ZeroesFua(block) => (CommandOp::WriteZeroes, block, 1, true),
            Want::Trim(block) => (CommandOp::Trim, block, 1, false),
            Want::Read(block) => (CommandOp::Read, block, 1, false),
            Want::Flush => (CommandOp::Flush, 0, 0, false),
            Want::Mode(mode) => return up.engine.set_mode(mode),
            Want::Drain => return up.engine.drain(),
            Want::Swap => {
                return up.engine.set_cache(self.scope.cache()).expect("it is as large");
            }
            Want::Stop => {
                up.stops = true;
                return up.engine.shut_down();
            }
            Want::Connect => return self.connect(),
            Want::Leave => {
                up.engine.closed(Connection(up.connections));
                up.connections -= 1;
                return;
            }
        };
        let half = matches!(self.scope.wants[want], Want::WriteHalf(_));
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

    /// A page of metadata on its way. Pages of one commit end together: the engine only counts them until all are
    /// there, and a crash before takes any of them away. So nothing is missed that ends them one by one, which
    /// `together.rs` holds.
    fn is_metadata(&self, pending: &Pending) -> bool {
        let Io { device, kind, page, .. } = pending.io;
        let frames = self.scope.layout().frame_page(Frame(0));
        device == Device::Ssd && kind == Kind::Write && page < frames
    }

    fn done(&mut self, io: usize, how: How) {
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
        // What the disk has lost nobody can give back, unless the SSD has it.
        for (block, left) in self.disk.take_lost() {
            let dirty = up.engine.dirty_runs(Block(block), 1) == [(1, true)];
            if !dirty {
                self.oracle.lose(block, &left.page());
            } else if self.oracle.is_being_written(block) {
                self.oracle.may_lack(block);
            }
        }
        up.engine.done(pending.io.id, result, pending.io.buffers);
    }

    /// Without the process: what a crash leaves as it was.
    fn without_process(&self) -> World {
        World {
            ssd: self.ssd.clone(),
            disk: self.disk.clone(),
            oracle: self.oracle.clone(),
            up: Err(Down::Cut),
            crashes: self.crashes + 1,
            late: Vec::new(),
            ..*self
        }
    }

    fn pending(&self) -> &[Pending] {
        self.up.as_ref().map_or(&[], |up| &up.pending)
    }

    fn cut(&self, outcome: u32) -> World {
        let mut world = self.without_process();
        let mut outcome = outcome as usize;
        for medium in [&mut world.ssd, &mut world.disk] {
            let left = medium.left_by_cut(self.pending());
            let chosen = left.into_iter().map(|(page, cells)| {
                let cell = cells[outcome % cells.len()];
                outcome /= cells.len();
                (page, cell)
            });
            medium.cut(chosen.collect::<Vec<_>>());
            medium.gone = None;
        }
        world
    }

    fn cut_outcomes(&self) -> usize {
        let media = [&self.ssd, &self.disk].map(|medium| medium.left_by_cut(self.pending()));
        let outcomes = media.iter().flatten().map(|(_, cells)| cells.len()).product();
        assert!(outcomes <= OUTCOMES_MAX, "too much to be lost by one power cut: {outcomes}");
        outcomes
    }

    fn kill(&self, arrived: u32) -> World {
        let mut world = self.without_process();
        world.up = Err(Down::Killed);
        if self.bug == Some(Bug::LockEndsWithProcess) {
            world.late = self.pending().to_vec();
            return world;
        }
        let mut place = 0;
        for medium in [&mut world.ssd, &mut world.disk] {
            let pages = medium.written(self.pending());
            let arrives = |_: &(usize, Cell)| {
                place += 1;
                arrived >> (place - 1) & 1 != 0
            };
            let pages: Vec<_> = pages.into_iter().filter(arrives).collect();
            medium.kill(pages);
        }
        world
    }

    fn kill_outcomes(&self) -> u32 {
        let media = [&self.ssd, &self.disk].map(|medium| medium.written(self.pending()).len());
        match self.bug {
            Some(Bug::LockEndsWithProcess) => 1,
            _ => 1 << (media[0] + media[1]),
        }
    }

    /// What is worth seeing once: the engine and what is under way, whatever stands on the media.
    pub(crate) fn aspect(&self) -> u64 {
        let mut digest = Digest::default();
        match &self.up {
            Err(down) => down.hash(&mut digest),
            Ok(up) => {
                let status = up.engine.status();
                (status.dirty_blocks, status.clean_blocks, status.free_frames).hash(&mut digest);
                let errors = status.errors;
                (errors.ssd_failed, errors.ssd_invalidated, status.lost.len()).hash(&mut digest);
                (up.engine.mode() as u8, self.oracle.under_way(), up.stops).hash(&mut digest);
                let mut pending: Vec<_> = up.pending.iter().map(|one| self.class(one)).collect();
                pending.sort_unstable();
                pending.hash(&mut digest);
            }
        }
        digest.finish()
    }

    /// Where an I/O goes: metadata, a frame, or the disk.
    fn class(&self, pending: &Pending) -> (u8, u8) {
        let Io { device, kind, page, .. } = pending.io;
        let frames = self.scope.layout().frame_page(Frame(0));
        let place = match device {
            Device::Disk => 2,
            Device::Ssd => u8::from(page >= frames),
        };
        (place, kind as u8)
    }

    fn hash_rest<H: Hasher>(&self, into: &mut H) {
        let World { asked, crashes, faults, commands, .. } = self;
        (asked, crashes, faults, commands).hash(into);
        self.late.len().hash(into);
        self.late.iter().for_each(|late| late.hash_state(into));
    }

    fn hash_media<H: Hasher>(&self, pending: &[Pending], into: &mut H) {
        self.ssd.hash_state(pending, into);
        self.disk.hash_state(pending, into);
    }
}

/// What a block is; `None` if it is known to be damaged.
fn page_of(
    found: &Recovered,
    ssd: &Medium,
    disk: &Medium,
    block: u64,
) -> Option<shingle_engine::format::Page> {
    let mut live = found.live.iter().filter(|(cached, _)| cached.0 == block);
    let Some(&(_, frame)) = live.next() else { return Some(disk.cell(block).page()) };
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

/// Of a write that begins where a block does.
fn pieces_of(data: &[u8]) -> Pieces {
    let page = |bytes: &[u8]| {
        let mut page = [0; PAGE_BYTES];
        page[..bytes.len()].copy_from_slice(bytes);
        Cell::of(&page)
    };
    Pieces { bytes: data.len() as u64, cells: data.chunks(PAGE_BYTES).map(page).collect() }
}

impl Model for World {
    type Step = Step;

    fn steps(&self, into: &mut Vec<Step>) {
        let Ok(up) = &self.up else {
            into.push(Step::Start);
            if self.crashes > 0 && self.crashes < self.scope.crashes {
                into.extend((0..3).map(Step::StartCut));
            }
            return;
        };
        // I/O that goes well first: what is lived through without faults and wishes is known when they are tried.
        let first = up.pending.iter().position(|pending| self.is_metadata(pending));
        let counts = |io: &usize| {
            let alone = self.scope.one_by_one || !self.is_metadata(&up.pending[*io]);
            alone || first == Some(*io)
        };
        let ends = (0..up.pending.len()).filter(counts);
        into.extend(ends.map(|io| Step::Done { io, how: How::Well }));
        if self.scope.ticks || up.pending.is_empty() {
            into.push(Step::Tick);
        }
        if self.asked < self.scope.commands && !up.stops {
            for connection in 1..=up.connections {
                // (Who has asked nothing yet is like all who have not.)
                if connection > 1 && self.commands[connection as usize - 1] == 0 {
                    break;
                }
                for (want, what) in self.scope.wants.iter().enumerate() {
                    let of_operator = matches!(
                        what,
                        Want::Mode(_) | Want::Drain | Want::Swap | Want::Stop | Want::Connect
                    );
                    let leaves = *what == Want::Leave
                        && (up.connections < 2 || self.oracle.is_busy(Connection(up.connections)));
                    let comes = *what == Want::Connect && up.connections >= 3;
                    if !(of_operator && connection > 1 || leaves || comes) {
                        into.push(Step::Ask { connection, want });
                    }
                }
            }
        }
        into.extend((0..self.late.len()).map(Step::Lands));
        if self.has_fault(Fault::Io) || self.has_fault(Fault::Flush) {
            for (io, pending) in up.pending.iter().enumerate() {
                let flush = pending.io.kind == Kind::Flush;
                if self.has_fault(if flush { Fault::Flush } else { Fault::Io }) {
                    let medium = self.medium(pending.io.device);
                    let ways = medium.faults(pending, pending.io.device == Device::Disk);
                    into.extend(ways.iter().map(|&how| Step::Done { io, how }));
                }
            }
        }
        if self.has_fault(Fault::SsdGone) && self.ssd.gone.is_none() {
            into.extend((0..WAYS_TO_GO.len()).map(Step::SsdGone));
        }
        if self.has_fault(Fault::Flip) {
            let layout = self.scope.layout();
            let used = |&frame: &u32| self.ssd.cell(layout.frame_page(Frame(frame))) != Cell::ZEROS;
            into.extend((0..layout.frames as u32).filter(used).map(Step::Flip));
        }
    }

    /// What stands on the media and is on its way there, and what is allowed to be lost.
    fn branch_key(&self) -> Option<u64> {
        if self.up.is_err() || self.crashes >= self.scope.crashes {
            return None;
        }
        let mut digest = Digest::default();
        self.hash_media(&[], &mut digest);
        self.pending().iter().filter(|pending| pending.io.kind == Kind::Write).for_each(
            |pending| {
                pending.hash_state(&mut digest);
            },
        );
        self.oracle.hash_for_crash(&mut digest);
        self.hash_rest(&mut digest);
        Some(digest.finish())
    }

    fn branches(&self, into: &mut Vec<Step>) {
        if self.up.is_err() || self.crashes >= self.scope.crashes {
            return;
        }
        into.extend((0..self.cut_outcomes() as u32).map(Step::Cut));
        if self.scope.kills {
            into.extend((0..self.kill_outcomes()).map(Step::Kill));
        }
    }

    fn after(&self, step: &Step) -> World {
        match *step {
            Step::Cut(outcome) => return self.cut(outcome),
            Step::Kill(arrived) => return self.kill(arrived),
            Step::Start => return self.clone().started(),
            Step::StartCut(halves) => return self.clone().start_cut(halves),
            _ => {}
        }
        let mut world = self.clone();
        match *step {
            Step::Ask { connection, want } => world.ask(connection, want),
            Step::Done { io, how } => world.done(io, how),
            Step::Tick => {
                let up = world.up.as_mut().expect("it is up");
                up.now = Nanos(up.now.0 + TICK.0);
                up.engine.tick(up.now);
            }
            Step::SsdGone(way) => {
                world.faults += 1;
                world.ssd.gone = Some(WAYS_TO_GO[way]);
            }
            Step::Flip(frame) => {
                world.faults += 1;
                world.ssd.flip(world.scope.layout().frame_page(Frame(frame)));
            }
            Step::Lands(late) => {
                let late = world.late.remove(late);
                let medium =
                    if late.io.device == Device::Ssd { &mut world.ssd } else { &mut world.disk };
                let pages = medium.written(&[late]);
                medium.kill(pages);
            }
            Step::Cut(_) | Step::Kill(_) | Step::Start | Step::StartCut(_) => unreachable!("above"),
        }
        world.effects();
        world
    }

    fn fingerprint(&self) -> u64 {
        let mut digest = Digest::default();
        self.hash_rest(&mut digest);
        self.hash_media(self.pending(), &mut digest);
        match &self.up {
            Err(down) => {
                down.hash(&mut digest);
                self.oracle.hash_for_crash(&mut digest);
            }
            Ok(up) => {
                (up.connections, up.stops).hash(&mut digest);
                self.oracle.hash_state(&mut digest);
                up.engine.hash_state(&mut digest);
                let sum = up.pending.iter().fold(0_u64, |sum, pending| {
                    let mut one = Digest::default();
                    pending.hash_state(&mut one);
                    sum.wrapping_add(one.finish())
                });
                sum.hash(&mut digest);
            }
        }
        digest.finish()
    }

    fn is_at_rest(&self) -> bool {
        match &self.up {
            Ok(up) => self.oracle.under_way() == 0 && !up.stops,
            Err(_) => false,
        }
    }

    fn is_calm(step: &Step) -> bool {
        matches!(step, Step::Done { how: How::Well, .. } | Step::Tick | Step::Start)
    }

    fn is_time(step: &Step) -> bool {
        *step == Step::Tick
    }

    fn says(&self, step: &Step) -> String {
        match *step {
            Step::Ask { connection, want } => {
                format!("connection {connection} wants {:?}", self.scope.wants[want])
            }
            Step::Done { io, .. } => match self.pending().get(io) {
                Some(Pending { io: Io { device, kind, page, buffers, .. }, .. }) => {
                    format!("{device:?} {kind:?} {page} +{}", buffers.len())
                }
                None => "no such I/O".to_owned(),
            },
            Step::Cut(outcome) => {
                let left = [&self.ssd, &self.disk].map(|medium| medium.left_by_cut(self.pending()));
                let mut outcome = outcome as usize;
                let mut says = vec!["the power goes".to_owned()];
                for (device, left) in ["SSD", "disk"].iter().zip(left) {
                    for (page, cells) in left {
                        let which = ["old".to_owned(), "new".to_owned(), "torn".to_owned()];
                        let at = outcome % cells.len();
                        outcome /= cells.len();
                        let what = which.get(at).cloned().unwrap_or(format!("newer {at}"));
                        says.push(format!("{device} page {page} {what}"));
                    }
                }
                says.join(", ")
            }
            _ => String::new(),
        }
    }
}
