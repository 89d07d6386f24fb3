//! Computes what a generator has to produce, from the published figures of a volume.
//!
//! ```text
//! written blocks   block accesses × share · else bytes written · else requests × share × length
//! writes           requests × share · else bytes written ÷ mean
//! read blocks      block accesses − written · else reads × length
//! reads            requests − writes · else read blocks ÷ length
//! different blocks written blocks × (1 − updates)
//! first accesses   start pages · else requests × starts
//!   by writes      different blocks ÷ length of first writes
//!   by reads       the others
//! reuses           requests − first accesses
//! ```

use shingle_core::units::BLOCK_BYTES;

use super::curve::Reuse;
use super::free::Free;
use crate::volumes::{Quantity, Volume};
use crate::zones::{LARGE_ZONE_BYTES, ZONE_BLOCKS, ZONE_BYTES};

const GIB: f64 = (1_u64 << 30) as f64;
/// The highest fraction of blocks in use in a zone: the rest are gaps between clusters.
const DENSITY_MAX: f64 = 0.95;
/// The highest fraction of the accessed range that is first accessed by reads: where reads are long
/// and start at many pages, they overlap.
const READ_DENSITY_MAX: f64 = 0.5;
/// The highest fraction of first accesses among reads: further start pages belong to writes.
const FIRST_READS_MAX: f64 = 0.6;
/// The highest fraction of start pages that are first written.
const FIRST_WRITES_MAX: f64 = 0.9;

/// Mean distance of reuses and its quantiles as fractions of the start pages, where they are not
/// published: the medians of the thirteen volumes for which they are.
const MEAN: f64 = 0.057;
const QUANTILES: [f64; 3] = [0.0047, 0.030, 0.19];

/// The counts of one operation of a volume at its full length.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Side {
    pub(super) requests: u64,
    pub(super) blocks: u64,
    /// Distinct blocks; for reads without the written blocks that are also read.
    pub(super) distinct: u64,
    /// Number of requests that are the first to start at their page.
    pub(super) starts: u64,
    /// Mean length of those requests in blocks, in 2^-16.
    pub(super) first_length: u64,
    /// Mean length of the other requests in blocks, in 2^-16.
    pub(super) reuse_length: u64,
    pub(super) zones: u64,
}

/// The counts of a volume at its full length.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Counts {
    pub(super) write: Side,
    /// The zones of reads include those of `write`.
    pub(super) read: Side,
    /// Number of zones from the first to the last.
    pub(super) span_zones: u64,
    /// Zones of 256 MiB, each of which is written at least once; 0 if that is not published.
    pub(super) large_zones: u64,
    /// Mean number of bytes by which a write is shorter than its blocks.
    pub(super) short_bytes: u64,
    /// Fraction of writes in runs of three or more to a zone.
    pub(super) sequential: f64,
    pub(super) reuse: Reuse,
}

impl Counts {
    pub(super) fn requests(&self) -> u64 {
        self.write.requests + self.read.requests
    }

    pub(super) fn of(volume: &Volume, free: &Free) -> Counts {
        let published = Published(volume);
        let amounts = Amounts::of(published, free);
        let zones = Zones::of(published, free, &amounts);
        let firsts = Firsts::of(published, free, &amounts, &zones);
        let lengths = Lengths::of(free, &amounts, &zones, &firsts);
        let short = published.written_bytes().map_or(0.0, |bytes| {
            (amounts.write_blocks * BLOCK_BYTES as f64 - bytes).max(0.0) / amounts.writes
        });
        Counts {
            write: Side {
                requests: rounded(amounts.writes).max(1),
                blocks: rounded(amounts.write_blocks).max(1),
                distinct: rounded(firsts.distinct),
                starts: rounded(firsts.writes),
                first_length: fixed(firsts.distinct / firsts.writes),
                reuse_length: fixed(lengths.rewrite.max(1.0)),
                zones: rounded(zones.written),
            },
            read: Side {
                requests: rounded(amounts.reads).max(1),
                blocks: rounded(amounts.read_blocks).max(1),
                distinct: rounded(lengths.read_distinct),
                starts: rounded(firsts.reads),
                first_length: fixed(lengths.read),
                reuse_length: fixed(lengths.read),
                zones: rounded(zones.accessed),
            },
            span_zones: rounded(zones.span),
            large_zones: rounded(zones.large),
            short_bytes: rounded(short),
            sequential: published.share(Quantity::Sequential).unwrap_or(free.sequential),
            reuse: published.reuse(free, firsts.writes + firsts.reads),
        }
    }
}

#[derive(Clone, Copy)]
struct Published<'a>(&'a Volume);

impl Published<'_> {
    fn figure(self, quantity: Quantity) -> Option<f64> {
        self.0.target(quantity)
    }

    /// Returns a percentage as a fraction.
    fn share(self, quantity: Quantity) -> Option<f64> {
        self.figure(quantity).map(|percent| percent / 100.0)
    }

    fn written_bytes(self) -> Option<f64> {
        self.figure(Quantity::WriteBytes).map(|gib| gib * GIB)
    }

    fn zones(self, quantity: Quantity) -> Option<f64> {
        self.figure(quantity).map(|gib| (gib * GIB / ZONE_BYTES as f64).round())
    }

    /// Returns the distances of reuses among `pages` start pages.
    fn reuse(self, free: &Free, pages: f64) -> Reuse {
        let far = |quantity, part: f64| self.figure(quantity).unwrap_or(part * free.reuse * pages);
        Reuse {
            mean: far(Quantity::ReuseMean, MEAN),
            quantiles: [
                far(Quantity::Reuse70, QUANTILES[0]),
                far(Quantity::Reuse80, QUANTILES[1]),
                far(Quantity::Reuse90, QUANTILES[2]),
            ],
            pages,
        }
    }
}

/// Requests and block accesses.
struct Amounts {
    writes: f64,
    write_blocks: f64,
    reads: f64,
    read_blocks: f64,
}

impl Amounts {
    fn of(published: Published, free: &Free) -> Amounts {
        let requests = published.figure(Quantity::Requests);
        let blocks = published.figure(Quantity::Blocks);
        let written_bytes = published.written_bytes();
        let write_share = published.share(Quantity::WriteRequests);
        let writes = requests.zip(write_share).map(|(requests, share)| requests * share);

        let write_blocks = blocks
            .zip(published.share(Quantity::WriteBlocks))
            .map(|(blocks, share)| blocks * share)
            .or(writes
                .zip(published.figure(Quantity::WriteSectors))
                .map(|(writes, sectors)| writes * sectors / 8.0))
            .or(written_bytes.map(|bytes| bytes / BLOCK_BYTES as f64))
            .expect("a volume's figures tell how much is written");
        let writes = writes
            .or(written_bytes
                .zip(published.figure(Quantity::WriteMean))
                .map(|(bytes, kib)| bytes / (kib * 1024.0)))
            .expect("a volume's figures tell how many writes there are");
        let reads =
            requests.or(write_share.map(|share| writes / share)).map(|requests| requests - writes);
        let read_blocks = blocks
            .map(|blocks| blocks - write_blocks)
            .or(reads.map(|reads| reads * free.read_blocks))
            .expect("a volume's figures tell how much is read");
        let reads = reads.unwrap_or(read_blocks / free.read_blocks);
        Amounts { writes, write_blocks, reads, read_blocks }
    }

    /// Returns the blocks that are written for the first time.
    fn new_blocks(&self, published: Published, free: &Free) -> f64 {
        let updates = published.share(Quantity::Updates);
        self.write_blocks * updates.map_or(free.new, |updates| 1.0 - updates)
    }
}

struct Zones {
    written: f64,
    /// Those written included.
    accessed: f64,
    /// From the first to the last.
    span: f64,
    /// Of 256 MiB, written.
    large: f64,
}

impl Zones {
    fn of(published: Published, free: &Free, amounts: &Amounts) -> Zones {
        let large = published.figure(Quantity::WrittenLarge).unwrap_or(0.0);
        let room = (large * LARGE_ZONE_BYTES as f64 / ZONE_BYTES as f64).floor();
        let written = published.zones(Quantity::Written).unwrap_or_else(|| {
            let new_blocks = amounts.new_blocks(published, free);
            let zones = (new_blocks / (free.density * ZONE_BLOCKS as f64)).ceil();
            if room > 0.0 { zones.clamp(large, room) } else { zones.max(1.0) }
        });
        let accessed = published.zones(Quantity::Accessed).unwrap_or(written).max(written);
        let span = if room > 0.0 { room } else { accessed * free.spread };
        Zones { written, accessed, span: span.max(accessed), large }
    }

    /// Returns the most blocks that may first be accessed by reads.
    fn read_room(&self) -> f64 {
        self.accessed * ZONE_BLOCKS as f64 * READ_DENSITY_MAX
    }
}

struct Firsts {
    /// Different blocks written.
    distinct: f64,
    /// Start pages that are first accessed by a write.
    writes: f64,
    /// And by a read.
    reads: f64,
}

impl Firsts {
    fn of(published: Published, free: &Free, amounts: &Amounts, zones: &Zones) -> Firsts {
        let distinct = amounts
            .new_blocks(published, free)
            .min(zones.written * ZONE_BLOCKS as f64 * DENSITY_MAX)
            .max(zones.written);
        let starts = published
            .figure(Quantity::StartPages)
            .unwrap_or((amounts.writes + amounts.reads) * free.starts);
        let reads_max = amounts.reads * FIRST_READS_MAX;
        let writes = (distinct / (free.first * amounts.write_blocks / amounts.writes))
            .max(starts - reads_max)
            .min(starts * FIRST_WRITES_MAX)
            .min(distinct)
            .min(amounts.writes)
            .max(zones.written);
        let reads = (starts - writes).min(reads_max).min(zones.read_room()).max(zones.accessed);
        Firsts { distinct, writes, reads }
    }
}

/// Mean lengths in blocks, and what reads of that length touch.
struct Lengths {
    rewrite: f64,
    read: f64,
    /// Different blocks that are only read.
    read_distinct: f64,
}

impl Lengths {
    fn of(free: &Free, amounts: &Amounts, zones: &Zones, firsts: &Firsts) -> Lengths {
        // Reads of written extents are as long as rewrites, so the mean of the other reads is
        // corrected for them.
        let rewrite =
            (amounts.write_blocks - firsts.distinct) / (amounts.writes - firsts.writes).max(1.0);
        let to_written = free.overlap * (amounts.reads - firsts.reads).max(0.0);
        let other_blocks = amounts.read_blocks - to_written * rewrite;
        let read = (other_blocks / (amounts.reads - to_written).max(1.0)).max(1.0);
        let read_distinct = (firsts.reads * read).min(zones.read_room()).max(firsts.reads);
        Lengths { rewrite, read, read_distinct }
    }
}

/// Returns a length in 2^-16 blocks.
fn fixed(blocks: f64) -> u64 {
    rounded(blocks * 65_536.0)
}

/// Rounds to a whole number; figures are far below 2^53.
fn rounded(number: f64) -> u64 {
    number.round() as u64
}
