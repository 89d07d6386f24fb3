//! The work and the wear of flash inside a disk: `flash` of a result.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shingle_drive::{Counters, RegionWear, Wear};

/// Flash inside a disk, counted from the first request. A page is a block of 4 KiB.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Flash {
    /// Blocks written by the host to the flash.
    pub written_blocks: u64,
    /// Blocks read from it for the host.
    pub read_blocks: u64,
    /// Blocks written back from it to the disk.
    pub evicted_blocks: u64,
    /// Pages programmed.
    pub programmed_blocks: u64,
    /// Of these, copies of valid pages.
    pub copied_blocks: u64,
    /// Of these, copies to another region, for wear levelling or to gain space.
    pub migrated_blocks: u64,
    /// Erase blocks that migrated.
    pub migrations: u64,
    /// Erases.
    pub erases: u64,
    /// Pages programmed ÷ pages of the host's writes; null without writes.
    pub wa_flash: Option<f64>,
    /// How many erases an erase block endures.
    pub endurance: u32,
    /// Bytes the host can write, in the pattern of this run, until the flash is worn out; null if
    /// nothing was erased.
    pub lifetime: Option<Lifetime>,
    /// Erases of all erase blocks.
    pub all: Erases,
    /// The same by region.
    pub regions: Vec<Region>,
}

/// How much the host can write until the flash is worn out, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Lifetime {
    /// With evenly distributed erases.
    pub even_bytes: f64,
    /// Until the most worn block is worn out.
    pub worst_bytes: f64,
}

/// The distribution of erases over erase blocks.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Erases {
    /// Erase blocks.
    pub blocks: u64,
    /// Fewest erases of a block.
    pub min: u32,
    /// Most erases of a block.
    pub max: u32,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub stddev: f64,
}

/// Erases in a region.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Region {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Their distribution.
    #[serde(flatten)]
    pub erases: Erases,
    /// Erase blocks by their number of erases.
    pub histogram: BTreeMap<u32, u32>,
}

impl Erases {
    fn of(wear: &RegionWear) -> Erases {
        Erases {
            blocks: wear.blocks(),
            min: wear.min(),
            max: wear.max(),
            mean: wear.mean(),
            stddev: wear.stddev(),
        }
    }

    /// Returns standard deviation ÷ mean: 0 if all blocks are equally worn; `None` without erases.
    #[must_use]
    pub fn variation(&self) -> Option<f64> {
        (self.mean > 0.0).then(|| self.stddev / self.mean)
    }
}

impl Flash {
    /// Creates the entry from the wear of flash, and its counters.
    #[must_use]
    pub fn new(wear: &Wear, did: &Counters) -> Flash {
        let region = |wear: &RegionWear| Region {
            name: wear.region.into(),
            erases: Erases::of(wear),
            histogram: wear.histogram.clone(),
        };
        let lifetime = |(even_bytes, worst_bytes): (f64, f64)| Lifetime { even_bytes, worst_bytes };
        Flash {
            written_blocks: did.flash_written_blocks,
            read_blocks: did.flash_read_blocks,
            evicted_blocks: did.flash_evicted_blocks,
            programmed_blocks: did.pages_programmed,
            copied_blocks: did.pages_copied,
            migrated_blocks: did.pages_migrated,
            migrations: did.flash_blocks_migrated,
            erases: did.flash_blocks_erased,
            wa_flash: wear.wa_flash(),
            endurance: wear.endurance,
            lifetime: wear.lifetime_bytes().map(lifetime),
            all: Erases::of(&wear.all()),
            regions: wear.regions.iter().map(region).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wear_and_counters_come_together() {
        let region = |region, histogram: [(u32, u32); 2]| RegionWear {
            region,
            histogram: histogram.into_iter().collect(),
        };
        let wear = Wear {
            regions: vec![region("a", [(1, 1), (3, 1)]), region("b", [(2, 1), (6, 1)])],
            endurance: 30,
            host_blocks: 500,
            written_pages: 400,
            programmed_pages: 600,
        };
        let did = Counters {
            flash_written_blocks: 400,
            pages_programmed: 600,
            pages_copied: 200,
            pages_migrated: 50,
            flash_blocks_erased: 12,
            ..Counters::default()
        };
        let flash = Flash::new(&wear, &did);
        assert_eq!((flash.all.blocks, flash.all.min, flash.all.max), (4, 1, 6));
        assert_eq!((flash.all.mean, flash.wa_flash), (3.0, Some(1.5)));
        // Away from the mean of 2 in `a`: 1 and 1.
        assert_eq!((&*flash.regions[0].name, flash.regions[0].erases.stddev), ("a", 1.0));
        assert_eq!(flash.regions[0].erases.variation(), Some(0.5));
        // 500 blocks cost 3 of 30 erases on average, and 6 of the worst block.
        let lifetime = flash.lifetime.expect("erased");
        let bytes = [lifetime.even_bytes, lifetime.worst_bytes].map(|bytes| bytes / 4096.0);
        assert_eq!(bytes, [5_000.0, 2_500.0]);
        let json = serde_json::to_value(&flash).expect("plain data");
        assert_eq!(json["regions"][1]["histogram"]["6"], 1);
        assert_eq!(json["regions"][1]["max"], 6);
    }
}
