//! The quantities of a workload that papers publish.

use serde::Deserialize;

/// A published value.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Its quantity.
    pub quantity: Quantity,
    /// Its value, in [`Quantity::unit`].
    pub value: f64,
    /// Its paper and table.
    pub source: String,
    /// Why another value is used instead.
    pub unused: Option<String>,
}

/// The quantity of a figure. The names are those of the description files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Quantity {
    /// Accesses of 4 KiB blocks; PORE and SAC call them requests.
    Blocks,
    /// Writes among the block accesses.
    WriteBlocks,
    /// All zones in which a block is written. PORE and SAC count bands of 17 to 36 MB (PORE §V-B),
    /// here they are zones of 5,000 blocks.
    Written,
    /// All zones in which a block is accessed.
    Accessed,
    /// Requests as the host sent them.
    Requests,
    /// Writes among the requests.
    WriteRequests,
    /// Written bytes.
    WriteBytes,
    /// Mean length of a write.
    WriteMean,
    /// Mean length of a write, rounded out to whole blocks.
    WriteSectors,
    /// Block writes to a block that was written before.
    Updates,
    /// Zones of 256 MiB in which a block is written.
    WrittenLarge,
    /// Writes in a run of three or more to one band (MCM §III-B).
    Sequential,
    /// Written blocks at the write pointer of their 16 MiB zone, without a cache (ROCO Figure 9b,
    /// HA). Here only such writes move the pointer; in a drive cleaning moves it, too.
    AtPointer,
    /// Distinct 4 KiB pages in which a request starts.
    StartPages,
    /// Mean LRU stack distance of reuses of start pages: the number of distinct other start pages
    /// between two requests that start in the same page, for both operations together.
    ReuseMean,
    /// The smallest LRU size, in start pages, that holds 70 % of the reuses.
    Reuse70,
    /// The same for 80 %.
    Reuse80,
    /// The same for 90 %.
    Reuse90,
}

/// A property that recorded traces share, but that is not published for the volumes. It is measured
/// with `shingle trace info` on the traces at hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trait {
    /// How many times more often short writes are rewritten soon than long ones.
    ShortToLong,
    /// Fraction of reuses that repeat the previous order.
    InOrder,
}

impl Trait {
    /// All properties.
    pub const ALL: [Trait; 2] = [Trait::ShortToLong, Trait::InOrder];

    /// Returns a short name for tables.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Trait::ShortToLong => "short writes rewritten soon ÷ long",
            Trait::InOrder => "reuses in the old order",
        }
    }

    /// Returns the least and greatest value of recorded traces, rounded outwards.
    #[must_use]
    pub fn range(self) -> (f64, f64) {
        match self {
            Trait::ShortToLong => (1.5, 4.0),
            Trait::InOrder => (0.10, 0.25),
        }
    }

    /// Returns whether a workload is in this range.
    #[must_use]
    pub fn holds(self, made: f64) -> bool {
        let (least, most) = self.range();
        (least..=most).contains(&made)
    }
}

/// The accepted deviation of a workload from a figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tolerance {
    /// Percent of the figure.
    Percent(f64),
    /// Percentage points.
    Points(f64),
    /// A factor in either direction.
    Factor(f64),
}

impl Quantity {
    /// The quantities of reuses of start pages.
    pub const REUSE: [Quantity; 5] = [
        Quantity::StartPages,
        Quantity::ReuseMean,
        Quantity::Reuse70,
        Quantity::Reuse80,
        Quantity::Reuse90,
    ];

    /// Returns a short name for tables.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Quantity::Blocks => "block accesses",
            Quantity::WriteBlocks => "writes among block accesses",
            Quantity::Written => "written range",
            Quantity::Accessed => "accessed range",
            Quantity::Requests => "requests",
            Quantity::WriteRequests => "writes among requests",
            Quantity::WriteBytes => "bytes written",
            Quantity::WriteMean => "mean write",
            Quantity::WriteSectors => "mean write in whole blocks",
            Quantity::Updates => "writes to written blocks",
            Quantity::WrittenLarge => "large zones written",
            Quantity::Sequential => "writes in runs in a band",
            Quantity::AtPointer => "written at write pointers",
            Quantity::StartPages => "start pages",
            Quantity::ReuseMean => "mean distance of reuses",
            Quantity::Reuse70 => "70 % of reuses within",
            Quantity::Reuse80 => "80 % of reuses within",
            Quantity::Reuse90 => "90 % of reuses within",
        }
    }

    /// Returns the unit of the description files.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Quantity::Blocks => "accesses of 4 KiB blocks",
            Quantity::WriteBlocks => "% of block accesses",
            Quantity::Written | Quantity::Accessed => "GiB of touched bands",
            Quantity::Requests => "requests",
            Quantity::WriteRequests => "% of requests",
            Quantity::WriteBytes => "GiB",
            Quantity::WriteMean => "KiB a write",
            Quantity::WriteSectors => "sectors of 512 bytes a write, in whole blocks",
            Quantity::Updates => "% of written blocks",
            Quantity::WrittenLarge => "zones of 256 MiB",
            Quantity::Sequential => "% of write requests",
            Quantity::AtPointer => "% of written data",
            Quantity::StartPages => "4 KiB pages in which a request starts",
            Quantity::ReuseMean | Quantity::Reuse70 | Quantity::Reuse80 | Quantity::Reuse90 => {
                "start pages"
            }
        }
    }

    /// Returns the accepted deviation of a workload at its full length.
    #[must_use]
    pub fn tolerance(self) -> Tolerance {
        match self {
            Quantity::Blocks | Quantity::WriteBlocks => Tolerance::Percent(1.0),
            Quantity::Requests | Quantity::WriteRequests => Tolerance::Percent(1.0),
            Quantity::Written | Quantity::Accessed => Tolerance::Percent(3.0),
            Quantity::WrittenLarge => Tolerance::Percent(3.0),
            Quantity::WriteBytes | Quantity::WriteMean => Tolerance::Percent(5.0),
            Quantity::WriteSectors => Tolerance::Percent(5.0),
            Quantity::Updates | Quantity::Sequential => Tolerance::Points(3.0),
            // The same as in the verdicts on papers, because the measurement is an approximation.
            Quantity::AtPointer => Tolerance::Points(5.0),
            Quantity::StartPages | Quantity::ReuseMean => Tolerance::Factor(1.5),
            Quantity::Reuse70 | Quantity::Reuse80 | Quantity::Reuse90 => Tolerance::Factor(1.5),
        }
    }
}

impl Tolerance {
    /// Returns whether `made` is close enough to `published`.
    #[must_use]
    pub fn holds(self, published: f64, made: f64) -> bool {
        match self {
            Tolerance::Percent(percent) => (made / published - 1.0).abs() * 100.0 <= percent,
            Tolerance::Points(points) => (made - published).abs() <= points,
            Tolerance::Factor(factor) => (published / factor..=published * factor).contains(&made),
        }
    }
}
