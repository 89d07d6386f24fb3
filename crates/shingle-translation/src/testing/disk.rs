//! The medium: its contents, and what must be found there after a power cut.

use super::Content;
use crate::translation::{Layout, Place, Step};
use shingle_core::units::{Block, Zone};
use std::collections::BTreeMap;

/// The medium, with what must be found on it.
pub(super) struct Disk {
    pub(super) layout: Layout,
    /// Whether a zone may be reset before its blocks are durable elsewhere.
    pub(super) survives_power_cuts: bool,
    pub(super) buffer: Vec<Content>,
    /// Contents of each zone, up to its write pointer.
    pub(super) zones: Vec<Vec<Content>>,
    /// For each block, the place in the durable map, and the least version that must be there.
    pub(super) durable: Vec<(Place, u64)>,
    /// The zones as they were when that map became durable: on a real disk, a zone that is reset is
    /// replaced by a spare one until the next map is durable.
    pub(super) durable_zones: Vec<Vec<Content>>,
    /// Zones that were reset and are not yet rewritten to their old length.
    pub(super) rewriting: BTreeMap<Zone, usize>,
}

impl Disk {
    pub(super) fn new(layout: Layout, blocks: u64, survives_power_cuts: bool) -> Disk {
        let zones = vec![Vec::new(); layout.zones as usize];
        Disk {
            layout,
            survives_power_cuts,
            buffer: vec![None; layout.buffer_blocks as usize],
            zones: zones.clone(),
            durable: vec![(Place::Nowhere, 0); blocks as usize],
            durable_zones: zones,
            rewriting: BTreeMap::new(),
        }
    }

    /// Returns the contents of `place`; `None` if it may not be read.
    pub(super) fn content(&self, place: Place) -> Option<Content> {
        match place {
            Place::Buffer(at) => self.buffer.get(at as usize).copied(),
            Place::Native(at) => {
                let zone = self.zones.get((at / self.layout.zone_blocks) as usize)?;
                zone.get((at % self.layout.zone_blocks) as usize).copied()
            }
            Place::Nowhere => Some(None),
        }
    }

    /// Returns the contents of a place, for changing it.
    pub(super) fn at(&mut self, place: Place) -> Option<&mut Content> {
        match place {
            Place::Buffer(at) => self.buffer.get_mut(at as usize),
            Place::Native(at) => {
                let zone = self.zones.get_mut((at / self.layout.zone_blocks) as usize)?;
                zone.get_mut((at % self.layout.zone_blocks) as usize)
            }
            Place::Nowhere => None,
        }
    }

    /// Writes a block at the write pointer of a zone.
    pub(super) fn append(&mut self, zone: Zone, content: Content) {
        let blocks = &mut self.zones[zone.index()];
        blocks.push(content);
        if self.rewriting.get(&zone).is_some_and(|&was| blocks.len() >= was) {
            self.rewriting.remove(&zone);
        }
    }

    /// Panics if the durable map no longer leads to the durable data, or to newer data.
    pub(super) fn cut_power(&self, steps: &[Step]) {
        for (at, &(place, least)) in self.durable.iter().enumerate() {
            let block = Block(at as u64);
            if least == 0
                || self
                    .content(place)
                    .flatten()
                    .is_some_and(|found| found.block == block && found.number >= least)
            {
                continue;
            }
            let lost_while_rewriting = match place {
                Place::Native(at) => {
                    self.rewriting.contains_key(&Zone((at / self.layout.zone_blocks) as u32))
                }
                _ => false,
            };
            assert!(
                lost_while_rewriting && !self.survives_power_cuts,
                "a power cut now loses {block:?}, which the durable map has at {place:?}: {steps:?}"
            );
        }
    }
}
