//! The oracle: it knows the allowed contents of each block, which are the last durable content and
//! everything written since.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use shingle_core::units::BLOCK_BYTES;
use shingle_engine::format::{PAGE_BYTES, Page};
use shingle_engine::{Command, CommandOp, Connection, Reply};

/// The history of a block.
#[derive(Clone)]
struct History {
    /// All its contents, in order.
    contents: Vec<Rc<Page>>,
    /// The oldest content that may be found.
    floor: usize,
    /// The newest acknowledged content.
    acked: usize,
    /// Contents before this one are unknown: the block was trimmed or lost.
    unknown_below: usize,
    /// The newest acknowledged content that the disk has lost: a flush failed. 0 for none.
    lost: usize,
}

/// By block, the newest content that may be lost as far as a connection was told: its FLUSH failed.
type Unkept = Vec<usize>;

/// A command in flight.
#[derive(Clone)]
struct Asked {
    command: Command,
    /// The blocks written, with their versions.
    versions: Vec<(u64, usize)>,
    /// The acknowledged content of each block when the command came; for a read, from its first
    /// block on.
    acked: Vec<usize>,
}

/// See the module.
#[derive(Clone)]
pub(crate) struct Oracle {
    blocks: Vec<History>,
    asked: HashMap<u64, Asked>,
    /// By connection, and for everything that any connection was told.
    unkept: HashMap<Connection, Unkept>,
    told: Unkept,
    versions: u64,
    /// Whether requests may fail.
    pub(crate) may_fail: bool,
    /// Whether the disk tears blocks that bypass the cache.
    pub(crate) may_tear: bool,
    pub(crate) reads_checked: u64,
}

/// The content of a block written whole, for a version number that is unique among all blocks.
pub(crate) fn stamp(block: u64, version: u64) -> Page {
    let mut page = [(version * 31 + block) as u8; PAGE_BYTES];
    for part in page.chunks_exact_mut(512) {
        part[..8].copy_from_slice(&block.to_le_bytes());
        part[8..16].copy_from_slice(&version.to_le_bytes());
    }
    page
}

impl Oracle {
    /// The oracle of a disk that was in use before it got a cache.
    pub(crate) fn new(blocks: u64) -> Oracle {
        Oracle {
            blocks: (0..blocks).map(History::new).collect(),
            asked: HashMap::new(),
            unkept: HashMap::new(),
            told: vec![0; blocks as usize],
            versions: 0,
            may_fail: false,
            may_tear: false,
            reads_checked: 0,
        }
    }

    /// Adds blocks.
    pub(crate) fn grow(&mut self, blocks: u64) {
        let before = self.blocks.len() as u64;
        self.blocks.extend((before..blocks).map(History::new));
        let unkept = self.unkept.values_mut().chain([&mut self.told]);
        unkept.for_each(|unkept| unkept.resize(blocks as usize, 0));
        for asked in self.asked.values_mut().filter(|asked| asked.command.op == CommandOp::Flush) {
            asked.acked.resize(blocks as usize, 0);
        }
    }

    pub(crate) fn under_way(&self) -> usize {
        self.asked.len()
    }

    /// Whether a write to the block is in flight.
    pub(crate) fn is_being_written(&self, block: u64) -> bool {
        let writes = [CommandOp::Write, CommandOp::WriteZeroes];
        let mut asked = self.asked.values().filter(|asked| writes.contains(&asked.command.op));
        asked.any(|asked| blocks_of(&asked.command).contains(&block))
    }

    /// A client has connected. It has not been told of losses that others were told of.
    pub(crate) fn opened(&mut self, connection: Connection) {
        self.unkept.insert(connection, self.told.clone());
    }

    pub(crate) fn is_busy(&self, connection: Connection) -> bool {
        self.asked.values().any(|asked| asked.command.connection == connection)
    }

    /// The disk has lost the newest content of a block that is not on the SSD; `left` is what it
    /// keeps. Reads may return either.
    pub(crate) fn lose(&mut self, block: u64, left: &Page) {
        let history = &mut self.blocks[block as usize];
        let kept = history.contents.iter().rposition(|content| **content == *left);
        if kept.is_none_or(|kept| kept < history.acked) && history.acked >= history.unknown_below {
            history.lost = history.acked;
            self.may_lack(block);
        }
    }

    /// Its data is lost and was given up: now the block is what the disk has.
    pub(crate) fn forget(&mut self, block: u64) {
        let history = &mut self.blocks[block as usize];
        (history.floor, history.acked, history.lost) = (0, 0, 0);
        history.unknown_below = history.contents.len();
    }

    /// It is unknown whether the newest content of a block has survived: all from the last durable
    /// one on are allowed.
    pub(crate) fn may_lack(&mut self, block: u64) {
        let history = &mut self.blocks[block as usize];
        history.acked = history.floor;
        // Reads in flight may have returned that already.
        for asked in self.asked.values_mut().filter(|asked| asked.command.op == CommandOp::Read) {
            let at = blocks_of(&asked.command).position(|at| at == block);
            at.into_iter().for_each(|at| asked.acked[at] = asked.acked[at].min(history.floor));
        }
    }

    /// A client submits a command; fills in the data of a write.
    pub(crate) fn ask(&mut self, command: &mut Command) {
        let version = self.versions + 1;
        self.ask_as(command, version);
    }

    /// Likewise, with this version number for a write.
    pub(crate) fn ask_as(&mut self, command: &mut Command, version: u64) {
        let mut asked = Asked { command: command.clone(), versions: Vec::new(), acked: Vec::new() };
        match command.op {
            CommandOp::Flush => {
                let newest = |history: &History| history.acked.max(history.lost);
                asked.acked = self.blocks.iter().map(newest).collect();
            }
            CommandOp::Trim => {
                let first = command.offset.div_ceil(BLOCK_BYTES);
                for block in first..(command.offset + command.bytes) / BLOCK_BYTES {
                    self.forget(block);
                }
            }
            CommandOp::Read => {
                let of = |block| self.blocks[block as usize].acked;
                asked.acked = blocks_of(command).map(of).collect();
            }
            CommandOp::Write | CommandOp::WriteZeroes => {
                self.versions = version;
                for block in blocks_of(command) {
                    let new = match command.op {
                        CommandOp::Write => stamp(block, self.versions),
                        _ => [0; PAGE_BYTES],
                    };
                    let part = part_of(command, block);
                    if command.op == CommandOp::Write {
                        command.data.extend_from_slice(&new[part.clone()]);
                    }
                    let history = &mut self.blocks[block as usize];
                    let mut page = **history.contents.last().expect("there is one");
                    let unknown =
                        history.unknown_below == history.contents.len() && part.len() < PAGE_BYTES;
                    page[part.clone()].copy_from_slice(&new[part]);
                    history.contents.push(Rc::new(page));
                    history.unknown_below += usize::from(unknown);
                    asked.versions.push((block, history.contents.len() - 1));
                }
            }
        }
        self.asked.insert(command.id, asked);
    }

    /// The client gets a reply.
    pub(crate) fn answered(&mut self, reply: &Reply, ssd_gone: bool) {
        let asked = self.asked.remove(&reply.id).expect("a command is answered once");
        let Ok(data) = &reply.result else {
            assert!(self.may_fail, "{:?} failed: {:?}", asked.command, reply.result);
            if asked.command.op == CommandOp::Flush {
                self.tell(asked.command.connection, ssd_gone);
            }
            return;
        };
        for &(block, version) in &asked.versions {
            let history = &mut self.blocks[block as usize];
            history.acked = history.acked.max(version);
            if asked.command.fua {
                history.floor = history.floor.max(version);
            }
        }
        match asked.command.op {
            CommandOp::Flush => {
                let unkept = &self.unkept[&asked.command.connection];
                for (block, history) in self.blocks.iter_mut().enumerate() {
                    let (newest, unkept) = (asked.acked[block], unkept[block]);
                    assert!(
                        history.lost <= unkept || history.lost > newest,
                        "block {block} was lost and a flush on {:?} does not tell",
                        asked.command.connection
                    );
                    // (A trim or a reported loss since then has lowered it.)
                    let acked = newest.min(history.acked);
                    if acked > unkept {
                        history.floor = history.floor.max(acked);
                    }
                }
            }
            CommandOp::Read => {
                assert_eq!(data.len() as u64, asked.command.bytes);
                for (block, &acked) in blocks_of(&asked.command).zip(&asked.acked) {
                    self.check_read(&asked.command, block, acked, data);
                }
            }
            _ => {}
        }
    }

    /// A flush has failed: losses may be known now. After the failure of an SSD nothing more is
    /// known.
    fn tell(&mut self, connection: Connection, ssd_gone: bool) {
        let unkept = self.unkept.get_mut(&connection).expect("it is open");
        for ((history, unkept), told) in self.blocks.iter().zip(unkept).zip(&mut self.told) {
            let newest = if ssd_gone { history.acked.max(history.lost) } else { history.lost };
            *unkept = newest.max(*unkept);
            *told = newest.max(*told);
        }
    }

    fn check_read(&mut self, command: &Command, block: u64, acked: usize, data: &[u8]) {
        self.reads_checked += 1;
        let part = part_of(command, block);
        let at = (block * BLOCK_BYTES + part.start as u64 - command.offset) as usize;
        let got = &data[at..at + part.len()];
        let history = &self.blocks[block as usize];
        let from = acked.min(history.acked);
        let fits = history.contents[from..].iter().rev().any(|page| page[part.clone()] == *got);
        assert!(
            fits || from < history.unknown_below,
            "block {block} reads {}, {}",
            name(got),
            history.says()
        );
    }

    /// After a crash: `page_of` returns the contents of blocks, which are now fixed. `None` is a
    /// block that is known to be lost.
    pub(crate) fn cut<P: Borrow<Page>>(&mut self, page_of: impl Fn(u64) -> Option<P>, power: bool) {
        self.asked.clear();
        self.unkept.clear();
        self.told.fill(0);
        let may_tear = self.may_tear;
        for (history, block) in self.blocks.iter_mut().zip(0..) {
            history.lost = 0;
            let Some(page) = page_of(block) else {
                assert!(self.may_fail, "block {block} is damaged");
                history.unknown_below = history.contents.len();
                continue;
            };
            let page: &Page = page.borrow();
            let allowed = &history.contents[history.floor..];
            let found = allowed.iter().rposition(|content| **content == *page);
            let torn = || may_tear && is_torn(page, allowed);
            assert!(
                found.is_some() || history.floor < history.unknown_below || torn(),
                "block {block} is {} after a crash, {}",
                name(page),
                history.says()
            );
            let page = found.map_or_else(|| Rc::new(*page), |at| Rc::clone(&allowed[at]));
            if power {
                // The content found stays until the block is written again.
                history.contents = vec![page];
                (history.floor, history.acked, history.unknown_below) = (0, 0, 0);
            } else {
                // It stays until a power cut.
                history.contents.push(page);
                history.acked = history.contents.len() - 1;
            }
        }
    }

    /// With nothing in flight: each block has the content written last. After a power `cut`, a
    /// write that ended with an error may be partly there.
    pub(crate) fn check_all<P: Borrow<Page>>(&self, cut: bool, page_of: impl Fn(u64) -> Option<P>) {
        for (history, block) in self.blocks.iter().zip(0..) {
            if let Some(page) = page_of(block) {
                let page: &Page = page.borrow();
                let allowed = &history.contents[history.acked..];
                let last = allowed.iter().any(|content| **content == *page);
                let torn = || cut && is_torn(page, allowed);
                assert!(
                    last || history.acked < history.unknown_below || torn(),
                    "block {block} is {} at the end, {}",
                    name(page),
                    history.says()
                );
            }
        }
    }
}

impl Oracle {
    /// Hashes everything that affects which contents are allowed. Contents are identified by the
    /// beginnings of some of their sectors: exploration writes halves of blocks and tears after the
    /// first sector.
    pub(crate) fn hash_state<H: Hasher>(&self, into: &mut H) {
        let Oracle { blocks, asked, unkept, told, versions: _, .. } = self;
        self.hash_for_crash(into);
        for History { floor, acked, lost, .. } in blocks {
            // (0 for none.)
            (acked - floor, if *lost == 0 { 0 } else { lost + 1_000 - floor }).hash(into);
        }
        // Reports about contents before the oldest possible one are equivalent, unless something is
        // lost.
        let since = |told: &Unkept, into: &mut H| {
            for (&told, history) in told.iter().zip(blocks) {
                let told = if history.lost == 0 { told.max(history.floor) } else { told };
                (1_000 + told - history.floor).hash(into);
            }
        };
        let mut commands: Vec<_> = asked.iter().collect();
        commands.sort_unstable_by_key(|(id, _)| **id);
        for (id, Asked { command: _, versions, acked }) in commands {
            id.hash(into);
            let floor = |block: u64| blocks[block as usize].floor;
            versions.iter().for_each(|&(block, at)| (1_000 + at - floor(block)).hash(into));
            match acked.len() == blocks.len() {
                true => since(acked, into),
                false => acked.hash(into),
            }
        }
        let mut connections: Vec<_> = unkept.iter().collect();
        connections.sort_unstable_by_key(|(connection, _)| connection.0);
        for (connection, told) in connections {
            connection.hash(into);
            since(told, into);
        }
        since(told, into);
    }

    /// Hashes everything that affects which contents are allowed after a crash now.
    pub(crate) fn hash_for_crash<H: Hasher>(&self, into: &mut H) {
        for History { contents, floor, unknown_below, .. } in &self.blocks {
            let contents = &contents[*floor..];
            (contents.len(), unknown_below.saturating_sub(*floor)).hash(into);
            for content in contents {
                for sector in [0, 1, 7] {
                    let (words, _) = content[sector * 512..].as_chunks::<8>();
                    words[..2].hash(into);
                }
            }
        }
    }
}

/// Whether each sector of `page` is from one of `contents`.
fn is_torn(page: &Page, contents: &[Rc<Page>]) -> bool {
    (0..8).map(|n| n * 512..(n + 1) * 512).all(|sector| {
        contents.iter().any(|content| content[sector.clone()] == page[sector.clone()])
    })
}

impl History {
    fn new(block: u64) -> History {
        let contents = vec![Rc::new(stamp(block, 0))];
        History { contents, floor: 0, acked: 0, unknown_below: 0, lost: 0 }
    }

    fn says(&self) -> String {
        let names: Vec<String> =
            self.contents[self.floor..].iter().map(|page| name(&page[..])).collect();
        format!(
            "may be {}, the client knows of number {}",
            names.join(" "),
            self.acked - self.floor
        )
    }
}

pub(crate) fn name(bytes: &[u8]) -> String {
    let stamps = bytes.chunks_exact(512).map(|part| {
        let word = |at: usize| u64::from_le_bytes(part[at..at + 8].try_into().expect("eight"));
        (word(0), word(8))
    });
    let mut stamps: Vec<String> = stamps.map(|(b, v)| format!("{b}v{v}")).collect();
    stamps.dedup();
    stamps.join("/")
}

fn blocks_of(command: &Command) -> std::ops::Range<u64> {
    if command.bytes == 0 || command.op == CommandOp::Flush {
        return 0..0;
    }
    command.offset / BLOCK_BYTES..(command.offset + command.bytes).div_ceil(BLOCK_BYTES)
}

fn part_of(command: &Command, block: u64) -> std::ops::Range<usize> {
    let from = command.offset.saturating_sub(block * BLOCK_BYTES);
    let to = (command.offset + command.bytes - block * BLOCK_BYTES).min(BLOCK_BYTES);
    from as usize..to as usize
}
