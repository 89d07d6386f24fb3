//! The bands of a disk, as an operator gives them: `20MiB`, or `9744bx120,9612b` if they differ.

use shingle_core::size::parse_whole_blocks;
use shingle_core::zones::ZoneMap;

use crate::BAND_BLOCKS_MAX;

/// The name of the setting, without its owner.
pub(super) const BANDS: &str = "bands";
/// The value for unknown bands.
pub(super) const NONE: &str = "none";

/// Bands from the first block on: the size in blocks and the number of each run of equal bands. The
/// last run continues to the end of the disk, where the last band may be cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Bands(Vec<(u64, u64)>);

impl Bands {
    /// Parses the setting; `None` for [`NONE`].
    ///
    /// # Errors
    /// If it has no valid form, or a band is too large.
    pub(super) fn parse(text: &str) -> Result<Option<Bands>, String> {
        if text == NONE {
            return Ok(None);
        }
        let mut runs = Vec::new();
        for run in text.split(',') {
            // No unit of size contains an x.
            let (size, count) = run.split_once('x').map_or((run, None), |(a, b)| (a, Some(b)));
            let blocks = parse_whole_blocks(size).map_err(|why| {
                format!("{why}; of several sizes write SIZExCOUNT,SIZE, or `{NONE}`")
            })?;
            if blocks > BAND_BLOCKS_MAX {
                return Err(format!("a band has at most {BAND_BLOCKS_MAX} blocks, not {blocks}"));
            }
            let count = match count.map(str::parse) {
                None => 1,
                Some(Ok(count)) if (1..=u64::from(u32::MAX)).contains(&count) => count,
                Some(_) => {
                    return Err(format!("`{run}`: write SIZExCOUNT, such as 20MiBx100"));
                }
            };
            runs.push((blocks, count));
        }
        Ok(Some(Bands(runs)))
    }

    /// The map of the bands of a disk with `disk_blocks` blocks.
    ///
    /// # Errors
    /// If there are more bands than can be numbered.
    pub(super) fn over(&self, disk_blocks: u64) -> Result<ZoneMap, String> {
        // An upper bound: as if every band were as small as the smallest.
        let smallest = self.0.iter().map(|run| run.0).min().unwrap_or(1);
        if disk_blocks / smallest >= u64::from(u32::MAX) - 1 {
            return Err("bands so small cannot be numbered on a disk so large".to_owned());
        }
        Ok(ZoneMap::runs(&self.0, disk_blocks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_core::units::{Block, Zone};

    #[test]
    fn bands_are_of_one_size_or_of_several() {
        let one = Bands::parse("20MiB").expect("a size").expect("bands").over(12_000);
        let one = one.expect("few");
        assert_eq!((one.count(), one.blocks(Zone(0)), one.blocks(Zone(2))), (3, 5120, 1760));
        let several = Bands::parse("100bx2,7bx3,50b").expect("sizes").expect("bands");
        let several = several.over(400).expect("few");
        assert_eq!(
            [0, 199, 200, 220, 221, 399].map(|block| several.zone(Block(block)).0),
            [0, 1, 2, 4, 5, 8]
        );
        // The first run may be something that is not a band.
        let behind = Bands::parse("30b,100b").expect("sizes").expect("bands").over(1000);
        assert_eq!(behind.expect("few").first_block(Zone(1)), Block(30));
        assert_eq!(Bands::parse("none"), Ok(None));
    }

    #[test]
    fn what_are_no_bands_is_refused() {
        for (text, told) in [
            ("", "not a size"),
            ("big", "SIZExCOUNT,SIZE"),
            ("0b", "less than a block"),
            ("3", "less than a block"),
            ("5000bx120,3", "less than a block"),
            ("1GiB", "at most 65536 blocks"),
            ("20MiBx0", "such as 20MiBx100"),
            ("20MiBx-1,5M", "such as 20MiBx100"),
            ("20MiB,", "not a size"),
        ] {
            let error = Bands::parse(text).expect_err(told);
            assert!(error.contains(told), "{text}: {error}");
        }
        let many = Bands::parse("1b").expect("a size").expect("bands");
        assert!(many.over(1 << 33).is_err());
    }
}
