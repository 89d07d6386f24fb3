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
    /// Accesses.
    pub(super) blocks: u64,
    /// Distinct blocks; for reads without the written blocks that are also read.
    pub(super) distinct: u64,
    /// Number of requests that are the first to start at their page.
    pub(super) starts: u64,
    /// Mean length of those requests in blocks, in 2^-16.
    pub(super) first_length: u64,
    /// Mean length of the other requests in blocks, in 2^-16.
    pub(super) reuse_length: u64,
    /// Number of zones of the blocks.
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
        let figure = |quantity| volume.target(quantity);
        let share = |quantity| figure(quantity).map(|percent| percent / 100.0);
        let requests = figure(Quantity::Requests);
        let written_bytes = figure(Quantity::WriteBytes).map(|gib| gib * GIB);
        let writes = requests.zip(share(Quantity::WriteRequests)).map(|(r, share)| r * share);
        let blocks = figure(Quantity::Blocks);

        let write_blocks = blocks.zip(share(Quantity::WriteBlocks)).map(|(b, share)| b * share);
        let write_blocks = write_blocks
            .or(writes.zip(figure(Quantity::WriteSectors)).map(|(w, sectors)| w * sectors / 8.0))
            .or(written_bytes.map(|bytes| bytes / 4096.0))
            .expect("a volume's figures tell how much is written");
        let writes = writes
            .or(written_bytes.zip(figure(Quantity::WriteMean)).map(|(b, kib)| b / (kib * 1024.0)))
            .expect("a volume's figures tell how many writes there are");
        let reads = requests
            .or(share(Quantity::WriteRequests).map(|share| writes / share))
            .map(|requests| requests - writes);
        let read_blocks = blocks
            .map(|blocks| blocks - write_blocks)
            .or(reads.map(|reads| reads * free.read_blocks))
            .expect("a volume's figures tell how much is read");
        let reads = reads.unwrap_or(read_blocks / free.read_blocks);

        let new = share(Quantity::Updates).map_or(free.new, |updates| 1.0 - updates);
        let per_zone = ZONE_BLOCKS as f64;
        let large_zones = figure(Quantity::WrittenLarge).unwrap_or(0.0);
        let room = (large_zones * LARGE_ZONE_BYTES as f64 / ZONE_BYTES as f64).floor();
        let zones = |quantity| figure(quantity).map(|gib| (gib * GIB / ZONE_BYTES as f64).round());
        let written_zones = zones(Quantity::Written).unwrap_or_else(|| {
            let zones = (write_blocks * new / (free.density * per_zone)).ceil();
            if room > 0.0 { zones.clamp(large_zones, room) } else { zones.max(1.0) }
        });
        let accessed_zones = zones(Quantity::Accessed).unwrap_or(written_zones).max(written_zones);
        let span = if room > 0.0 { room } else { accessed_zones * free.spread };

        let distinct =
            (write_blocks * new).min(written_zones * per_zone * DENSITY_MAX).max(written_zones);
        let starts = figure(Quantity::StartPages).unwrap_or((writes + reads) * free.starts);
        let first_reads = reads * FIRST_READS_MAX;
        let first_writes = (distinct / (free.first * write_blocks / writes))
            .max(starts - first_reads)
            .min(starts * FIRST_WRITES_MAX)
            .min(distinct)
            .min(writes)
            .max(written_zones);
        let room = accessed_zones * per_zone * READ_DENSITY_MAX;
        let first_reads = (starts - first_writes).min(first_reads).min(room).max(accessed_zones);
        // Reads of written extents are as long as rewrites, so the mean of the other reads is
        // corrected for them.
        let rewrite = (write_blocks - distinct) / (writes - first_writes).max(1.0);
        let to_written = free.overlap * (reads - first_reads).max(0.0);
        let read = (read_blocks - to_written * rewrite) / (reads - to_written).max(1.0);
        let read = read.max(1.0);
        let read_distinct = (first_reads * read).min(room).max(first_reads);

        let pages = first_writes + first_reads;
        let far = |quantity, part: f64| figure(quantity).unwrap_or(part * free.reuse * pages);
        let reuse = Reuse {
            mean: far(Quantity::ReuseMean, MEAN),
            quantiles: [
                far(Quantity::Reuse70, QUANTILES[0]),
                far(Quantity::Reuse80, QUANTILES[1]),
                far(Quantity::Reuse90, QUANTILES[2]),
            ],
            pages,
        };
        let fixed = |blocks: f64| rounded(blocks * 65_536.0);
        Counts {
            write: Side {
                requests: rounded(writes).max(1),
                blocks: rounded(write_blocks).max(1),
                distinct: rounded(distinct),
                starts: rounded(first_writes),
                first_length: fixed(distinct / first_writes),
                reuse_length: fixed(rewrite.max(1.0)),
                zones: rounded(written_zones),
            },
            read: Side {
                requests: rounded(reads).max(1),
                blocks: rounded(read_blocks).max(1),
                distinct: rounded(read_distinct),
                starts: rounded(first_reads),
                first_length: fixed(read),
                reuse_length: fixed(read),
                zones: rounded(accessed_zones),
            },
            span_zones: rounded(span.max(accessed_zones)),
            large_zones: rounded(large_zones),
            short_bytes: written_bytes
                .map_or(0, |bytes| rounded((write_blocks * 4096.0 - bytes).max(0.0) / writes)),
            sequential: share(Quantity::Sequential).unwrap_or(free.sequential),
            reuse,
        }
    }
}

/// Rounds to a whole number; figures are far below 2^53.
fn rounded(number: f64) -> u64 {
    number.round() as u64
}
