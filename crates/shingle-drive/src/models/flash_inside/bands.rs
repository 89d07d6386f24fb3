//! Choice of the band to rewrite: what controllers know of the pages of each band.

use shingle_core::parts::{Buckets, Links, List};
use shingle_core::units::Zone;

/// The ranking of bands by their pages on the flash, as far as a controller needs it.
#[derive(Clone, Debug)]
pub(super) enum BandRank {
    /// None.
    Unknown,
    /// Bands by their pages.
    Pages(Buckets),
    /// Bands by their pages that were not written recently.
    Cold(Cold),
}

/// Recently written pages, and the number of other pages of each band.
#[derive(Clone, Debug)]
pub(super) struct Cold {
    /// Most warm pages.
    window: u32,
    /// Warm pages; those written last at the head.
    warm: List,
    links: Links,
    is_warm: Vec<bool>,
    /// Pages of each band, warm or cold.
    pages: Vec<u32>,
    /// Bands by their cold pages.
    cold: Buckets,
}

impl BandRank {
    /// Ranks bands by pages; no band has more than `largest`.
    pub(super) fn pages(bands: usize, largest: u32) -> BandRank {
        BandRank::Pages(Buckets::new(bands, largest))
    }

    /// Ranks bands by cold pages: those not among the `window` written last of `pages`.
    pub(super) fn cold(bands: usize, largest: u32, pages: u32, window: u32) -> BandRank {
        BandRank::Cold(Cold {
            window: window.max(1),
            warm: List::default(),
            links: Links::new(pages as usize),
            is_warm: vec![false; pages as usize],
            pages: vec![0; bands],
            cold: Buckets::new(bands, largest),
        })
    }

    /// Notes a write of `page` with a block of `band`. Returns a page that is no longer warm.
    pub(super) fn written(&mut self, band: Zone, page: u32) -> Option<u32> {
        match self {
            BandRank::Unknown => None,
            BandRank::Pages(bands) => {
                more(bands, band);
                None
            }
            BandRank::Cold(cold) => {
                cold.pages[band.index()] += 1;
                cold.is_warm[page as usize] = true;
                cold.warm.push_head(&mut cold.links, page);
                if cold.warm.len() <= cold.window {
                    return None;
                }
                cold.warm.pop_tail(&mut cold.links)
            }
        }
    }

    /// Notes that `page` of `band`, which was warm, is cold now.
    pub(super) fn cooled(&mut self, band: Zone, page: u32) {
        if let BandRank::Cold(cold) = self {
            cold.is_warm[page as usize] = false;
            more(&mut cold.cold, band);
        }
    }

    /// Notes a move of a block from page `from` to `to`.
    pub(super) fn moved(&mut self, from: u32, to: u32) {
        let BandRank::Cold(cold) = self else { return };
        if cold.is_warm[from as usize] {
            cold.warm.push_behind(&mut cold.links, to, from);
            cold.warm.unlink(&mut cold.links, from);
            cold.is_warm[from as usize] = false;
            cold.is_warm[to as usize] = true;
        }
    }

    /// Notes that `page` no longer holds a block of `band`.
    pub(super) fn gone(&mut self, band: Zone, page: u32) {
        match self {
            BandRank::Unknown => {}
            BandRank::Pages(bands) => fewer(bands, band),
            BandRank::Cold(cold) => {
                cold.pages[band.index()] -= 1;
                if cold.is_warm[page as usize] {
                    cold.warm.unlink(&mut cold.links, page);
                    cold.is_warm[page as usize] = false;
                } else {
                    fewer(&mut cold.cold, band);
                }
            }
        }
    }

    /// Returns the band of most pages, or of most cold pages; of several the first that had so
    /// many.
    pub(super) fn best(&mut self) -> Option<Zone> {
        match self {
            BandRank::Unknown => None,
            BandRank::Pages(bands) => bands.highest().map(Zone),
            BandRank::Cold(cold) => cold.cold.highest().map(Zone),
        }
    }

    /// Returns, of the `most` bands with most cold pages, the one with the least `cost` of all its
    /// pages per cold page.
    pub(super) fn cheapest(&mut self, most: usize, cost: impl Fn(u32) -> u64) -> Option<Zone> {
        let BandRank::Cold(cold) = self else { return self.best() };
        cold.cold.settle();
        let each = |band: &Zone| {
            let released = cold.cold.score(band.0).expect("it has cold pages");
            cost(cold.pages[band.index()]) / u64::from(released)
        };
        cold.cold.descending().map(Zone).take(most).min_by_key(each)
    }

    /// Returns the warm page that was written longest ago.
    pub(super) fn oldest_warm(&self) -> Option<u32> {
        match self {
            BandRank::Cold(cold) => cold.warm.tail(),
            _ => None,
        }
    }

    /// Panics unless the counts add up to `live` pages.
    pub(super) fn check(&self, live: u32) {
        let sum = |bands: &Buckets| -> u32 {
            let mut bands = bands.clone();
            bands.settle();
            bands.descending().map(|band| bands.score(band).unwrap_or(0)).sum()
        };
        match self {
            BandRank::Unknown => {}
            BandRank::Pages(bands) => assert_eq!(sum(bands), live, "pages of bands"),
            BandRank::Cold(cold) => {
                assert_eq!(cold.pages.iter().sum::<u32>(), live, "pages of bands");
                assert_eq!(sum(&cold.cold) + cold.warm.len(), live, "warm and cold pages");
                cold.warm.check(&cold.links);
            }
        }
    }
}

fn more(bands: &mut Buckets, band: Zone) {
    let score = bands.score(band.0).unwrap_or(0);
    bands.set(band.0, score + 1);
}

fn fewer(bands: &mut Buckets, band: Zone) {
    match bands.score(band.0).expect("the band has pages") {
        1 => bands.remove(band.0),
        score => bands.set(band.0, score - 1),
    }
}
