//! The layout of bands: the same number of tracks in each, or a number drawn for each from a seed.
//!
//! The numbers of tracks in the bands of real disks are not published, so code that looks for bands
//! must not rely on equal sizes.

use super::values::Values;
use crate::parts::mech::MechValues;
use crate::parts::rng::Rng;
use crate::parts::runs::Runs;
use crate::sheet::{DriveError, Recipe};
use shingle_core::units::BLOCK_BYTES;

/// Most bands of a disk.
const BANDS_MAX: u64 = 1 << 28;

/// Lays out the bands. No band of the sheet lies across two rate zones, so `mech` gets zones of
/// whole bands.
pub(super) fn bands(
    recipe: &Recipe,
    values: &Values,
    mech: &mut MechValues,
) -> Result<Runs, DriveError> {
    let disk_blocks = mech.capacity_bytes / BLOCK_BYTES;
    if let Some(measured) = recipe.bands {
        let bands = Runs::new(measured, disk_blocks);
        return if bands.units() > BANDS_MAX { Err(too_many(recipe)) } else { Ok(bands) };
    }
    let (least, most) = (values.tracks_per_band_min, values.tracks_per_band);
    if least > most {
        return Err(recipe.refuse("tracks_per_band_min is at most tracks_per_band"));
    }
    mech.zone_tracks = (mech.zone_tracks / most).max(1) * most;
    let rate_zones = mech.tracks(0);
    let pairs: Vec<(u64, u64)> = if least == 0 || least == most {
        rate_zones.iter().map(|&(blocks, tracks)| (blocks * most, tracks / most)).collect()
    } else {
        if disk_blocks / 2 / least > BANDS_MAX {
            return Err(too_many(recipe));
        }
        drawn(&rate_zones, (least, most), disk_blocks, values.band_seed)
    };
    let bands = Runs::new(&pairs, disk_blocks);
    if bands.units() > BANDS_MAX { Err(too_many(recipe)) } else { Ok(bands) }
}

fn too_many(recipe: &Recipe) -> DriveError {
    recipe.refuse("at most 2^28 bands; take more tracks a band")
}

/// Draws bands of `least` to `most` tracks each, as pairs of blocks and count, until the disk ends.
/// The last rate zone continues to the end of the disk.
fn drawn(
    rate_zones: &[(u64, u64)],
    (least, most): (u64, u64),
    disk_blocks: u64,
    seed: u64,
) -> Vec<(u64, u64)> {
    let mut rng = Rng::new(seed);
    let (mut pairs, mut first) = (Vec::new(), 0);
    for (zone, &(track_blocks, tracks)) in rate_zones.iter().enumerate() {
        if first >= disk_blocks {
            break;
        }
        let rest = (disk_blocks - first).div_ceil(track_blocks);
        let last = zone + 1 == rate_zones.len();
        // The part beyond the disk is cut; a multiple of `most` can always be divided.
        let tracks = if last || rest < tracks { rest.next_multiple_of(most) } else { tracks };
        let bands = divided(tracks, (least, most), &mut rng);
        pairs.extend(bands.into_iter().map(|tracks| (tracks * track_blocks, 1)));
        first += tracks * track_blocks;
    }
    pairs
}

/// Divides `tracks`, a multiple of `most`, into bands of `least` to `most` tracks.
fn divided(tracks: u64, (least, most): (u64, u64), rng: &mut Rng) -> Vec<u64> {
    // As many as fit at the mean size, but enough if all had the greatest size.
    let count = (2 * tracks / (least + most)).max(tracks / most);
    let mut bands = vec![0; count as usize];
    bands.iter_mut().for_each(|band| *band = least + rng.below(most - least + 1));
    let mut sum: u64 = bands.iter().sum();
    // The surplus or deficit is spread over the bands one by one. Terminates: `count` bands of the
    // least size are not more than `tracks`, and of the greatest size not less, so some band
    // changes each time.
    while sum != tracks {
        for band in &mut bands {
            if sum < tracks && *band < most {
                *band += 1;
                sum += 1;
            } else if sum > tracks && *band > least {
                *band -= 1;
                sum -= 1;
            }
        }
    }
    bands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_bands_are_whole_tracks_within_bounds_and_end_with_their_rate_zone() {
        // Two rate zones of 42 tracks, of 100 and 50 blocks; the disk goes 300 tracks beyond.
        let zones = [(100, 42), (50, 42)];
        for (seed, least) in [(1, 1), (2, 5), (3, 10)] {
            let end = 42 * 100 + 342 * 50;
            let pairs = drawn(&zones, (least, 21), end, seed);
            let mut first = 0;
            for &(blocks, count) in &pairs {
                let track = if first < 4200 { 100 } else { 50 };
                assert_eq!((blocks % track, count), (0, 1));
                assert!((least..=21).contains(&(blocks / track)), "{blocks} at {first}");
                assert!(first >= 4200 || first + blocks <= 4200, "across two rate zones");
                first += blocks;
            }
            // 342 tracks are 16.3 bands of the greatest size: 17 of them are laid out.
            assert_eq!(first, 4200 + 17 * 21 * 50);
            assert_eq!(pairs, drawn(&zones, (least, 21), end, seed), "the seed decides");
            assert_ne!(pairs, drawn(&zones, (least, 21), end, seed + 1));
        }
    }

    #[test]
    fn sizes_are_drawn_evenly() {
        let bands = divided(21 * 10_000, (10, 21), &mut Rng::new(7));
        // 12 sizes with a mean of 15.5: 13,548 bands, 1,129 of each, give or take 4 sigma (32).
        assert_eq!(bands.len(), 13_548);
        for size in 10..=21 {
            let count = bands.iter().filter(|&&band| band == size).count();
            assert!((1129_usize.abs_diff(count)) < 400, "{count} of {size}");
        }
        let middle = (11..=20).map(|size| bands.iter().filter(|&&band| band == size).count());
        assert!(middle.clone().max() < middle.min().map(|least| least + 400));
    }
}
