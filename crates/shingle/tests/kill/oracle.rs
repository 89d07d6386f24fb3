//! Knows what each block may hold: what was durable last, or anything that was written since.

use std::ops::Range;

pub(crate) const BLOCK: usize = 4096;
const SECTOR: usize = 512;
pub(crate) const SECTORS: usize = BLOCK / SECTOR;

/// The stamp of each sector of a block. 0 stands for zeroes.
pub(crate) type Stamps = [u32; SECTORS];

/// What a block may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    Stamps(Stamps),
    /// It was trimmed.
    Anything,
}

struct Version {
    content: Content,
    /// The answer that told of it, counted over all of them.
    answered: Option<u64>,
}

/// Of each block the versions it may have, oldest first.
pub(crate) struct Oracle {
    blocks: Vec<Vec<Version>>,
    answers: u64,
    stamps: u32,
    /// Blocks written that a FLUSH or FUA made durable.
    pub(crate) durable_blocks: u64,
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The bytes of a sector: of which address and stamp they are, and what nobody else has.
fn sector(address: u64, stamp: u32) -> [u8; SECTOR] {
    let mut out = [0; SECTOR];
    if stamp == 0 {
        return out;
    }
    let head = address << 32 | u64::from(stamp);
    for (i, word) in out.chunks_exact_mut(8).enumerate() {
        let value = if i == 0 { head } else { mix(head.wrapping_add(i as u64)) };
        word.copy_from_slice(&value.to_le_bytes());
    }
    out
}

/// The bytes of some sectors of a block.
pub(crate) fn bytes(block: u64, stamps: &Stamps, sectors: Range<usize>) -> Vec<u8> {
    let address = |i: usize| block * SECTORS as u64 + i as u64;
    sectors.flat_map(|i| sector(address(i), stamps[i])).collect()
}

/// The stamps in a block that was read; none if it holds what nobody wrote there.
fn stamps(block: u64, data: &[u8]) -> Option<Stamps> {
    let mut out = [0; SECTORS];
    for (stamp, sector) in out.iter_mut().zip(data.chunks_exact(SECTOR)) {
        *stamp = u32::from_le_bytes(sector[..4].try_into().expect("4 bytes"));
    }
    (bytes(block, &out, 0..SECTORS) == data).then_some(out)
}

impl Oracle {
    /// All blocks hold zeroes.
    pub(crate) fn new(blocks: u64) -> Oracle {
        let zeroes = || vec![Version { content: Content::Stamps([0; SECTORS]), answered: Some(0) }];
        let blocks = (0..blocks).map(|_| zeroes()).collect();
        Oracle { blocks, answers: 0, stamps: 0, durable_blocks: 0 }
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// A stamp that nobody had before.
    pub(crate) fn stamp(&mut self) -> u32 {
        self.stamps += 1;
        self.stamps
    }

    /// The newest.
    pub(crate) fn newest(&self, block: u64) -> Content {
        self.blocks[block as usize].last().expect("there is one").content
    }

    /// The block may hold this from now on.
    pub(crate) fn written(&mut self, block: u64, content: Content) {
        self.blocks[block as usize].push(Version { content, answered: None });
    }

    /// The newest write of a block was answered; with FUA, it is durable.
    pub(crate) fn answered(&mut self, block: u64, fua: bool) {
        self.answers += 1;
        let versions = &mut self.blocks[block as usize];
        versions.last_mut().expect("there is one").answered = Some(self.answers);
        if fua {
            self.durable_blocks += 1;
            versions.drain(..versions.len() - 1);
        }
    }

    /// What a FLUSH that is sent now covers.
    pub(crate) fn flush_begins(&self) -> u64 {
        self.answers
    }

    pub(crate) fn flush_ends(&mut self, covered: u64) {
        for versions in &mut self.blocks {
            let is_covered = |version: &Version| version.answered.is_some_and(|n| n <= covered);
            if let Some(newest) = versions.iter().rposition(is_covered) {
                self.durable_blocks += newest as u64;
                versions.drain(..newest);
            }
        }
    }

    /// A block was read after a crash: it must be one that it may be. That one it is from now on.
    pub(crate) fn found(&mut self, block: u64, data: &[u8]) -> Result<(), String> {
        let versions = &mut self.blocks[block as usize];
        let Some(found) = stamps(block, data) else {
            return Err(format!("block {block} holds what was never written there"));
        };
        let may = |version: &Version| {
            matches!(version.content, Content::Anything)
                || version.content == Content::Stamps(found)
        };
        if !versions.iter().any(may) {
            let allowed: Vec<_> = versions.iter().map(|version| version.content).collect();
            return Err(format!("block {block} holds {found:?}; allowed are {allowed:?}"));
        }
        *versions = vec![Version { content: Content::Stamps(found), answered: Some(0) }];
        Ok(())
    }

    /// A block was read while nobody wrote it.
    pub(crate) fn read(expected: Content, block: u64, data: &[u8]) -> Result<(), String> {
        let found = stamps(block, data);
        match (expected, found) {
            (_, None) => Err(format!("block {block} reads as what was never written there")),
            (Content::Stamps(expected), Some(found)) if expected != found => {
                Err(format!("block {block} reads as {found:?}, not as {expected:?}"))
            }
            _ => Ok(()),
        }
    }
}

/// Random numbers with a seed.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

#[test]
fn the_oracle_knows_old_from_new() {
    let content = |stamp| Content::Stamps([stamp; SECTORS]);
    let data = |stamp| bytes(3, &[stamp; SECTORS], 0..SECTORS);
    let mut oracle = Oracle::new(4);
    oracle.written(3, content(1));
    oracle.answered(3, false);
    let covered = oracle.flush_begins();
    oracle.written(3, content(2));
    oracle.answered(3, false);
    oracle.flush_ends(covered);
    oracle.written(3, content(9));
    assert!(oracle.found(3, &data(0)).is_err(), "the flush covered 1");
    let mut mixed = data(1);
    mixed[512..1024].copy_from_slice(&data(2)[512..1024]);
    assert!(oracle.found(3, &mixed).is_err(), "old and new are mixed");
    assert!(oracle.found(3, &bytes(2, &[1; SECTORS], 0..SECTORS)).is_err(), "another address");
    oracle.found(3, &data(2)).expect("answered and not flushed");
    assert!(oracle.found(3, &data(9)).is_err(), "2 was found before");
    assert_eq!(oracle.durable_blocks, 1);
}
