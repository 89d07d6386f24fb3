//! Zones are of different kinds, and stay so: most hold a few blocks, some are full; few are hot.
//!
//! A stack of distances alone would make all of them alike in the end. So every zone has a class by
//! what the whole trace does to it, and is found among those of its class.

use std::collections::VecDeque;

use hashbrown::HashMap;
use shingle_core::units::{BLOCK_BYTES, Op, Request};

use super::long;
use crate::zones::ZONE_BLOCKS;

/// A stream goes on within so many requests, or not at all.
const STREAM_REQUESTS: usize = 256;

/// A first pass over a trace: what it does to each zone.
#[derive(Default)]
pub struct Survey {
    zones: HashMap<u64, Use>,
    /// Of each read or write, the number of the next in its stream; 0 for none.
    next: Vec<u32>,
    begins: Vec<u64>,
    run_ends: Vec<u64>,
    ends: HashMap<(u64, bool), usize>,
    recent: VecDeque<(u64, bool)>,
}

#[derive(Default)]
struct Use {
    touched: Option<Box<[u64]>>,
    blocks: u64,
    read: u64,
    written: u64,
}

impl Survey {
    /// Counts the next request.
    pub fn add(&mut self, request: &Request) {
        if !matches!(request.op, Op::Read | Op::Write) {
            return;
        }
        self.link(request);
        let last = (request.offset + request.bytes - 1) / BLOCK_BYTES;
        for block in request.offset / BLOCK_BYTES..=last {
            let zone = self.zones.entry(block / ZONE_BLOCKS).or_default();
            let within = (block % ZONE_BLOCKS) as usize;
            let words = (ZONE_BLOCKS as usize).div_ceil(64);
            let touched = zone.touched.get_or_insert_with(|| vec![0; words].into());
            let bit = 1 << (within % 64);
            zone.blocks += u64::from(touched[within / 64] & bit == 0);
            touched[within / 64] |= bit;
            match request.op {
                Op::Read => zone.read += 1,
                _ => zone.written += 1,
            }
        }
    }

    /// A stream goes on if a request begins where one of the last ended, with the same operation.
    fn link(&mut self, request: &Request) {
        let write = request.op == Op::Write;
        if let Some(before) = self.ends.remove(&(request.offset, write)) {
            self.next[before] = self.next.len() as u32;
        }
        let end = (request.offset + request.bytes, write);
        self.ends.insert(end, self.next.len());
        self.next.push(0);
        self.run_ends.push(end.0);
        self.begins.push(request.offset);
        self.recent.push_back(end);
        if self.recent.len() > STREAM_REQUESTS {
            let oldest = self.recent.pop_front().expect("there are some");
            let stale = self.next.len() - 1 - STREAM_REQUESTS;
            if self.ends.get(&oldest) == Some(&stale) {
                self.ends.remove(&oldest);
            }
        }
    }

    /// Of each read or write, the byte at which its stream will end.
    pub(super) fn run_ends(&mut self) -> Vec<u64> {
        let mut ends = std::mem::take(&mut self.run_ends);
        for at in (0..ends.len()).rev() {
            if self.next[at] > 0 {
                ends[at] = ends[self.next[at] as usize];
            }
        }
        ends
    }

    /// The length from which on runs are listed one by one.
    pub(super) fn long_from(&self, run_ends: &[u64]) -> u64 {
        let mut begins = vec![true; self.next.len()];
        for &next in self.next.iter().filter(|&&next| next > 0) {
            begins[next as usize] = false;
        }
        let runs = (0..begins.len()).filter(|&at| begins[at]);
        long::threshold(runs.map(|at| run_ends[at] - self.begins[at]).collect())
    }

    /// The class of each zone; classes count from 0, without gaps.
    pub(super) fn classes(self) -> HashMap<u64, u8> {
        let mut zones: Vec<(u64, u8)> =
            self.zones.iter().map(|(&zone, usage)| (zone, usage.class())).collect();
        zones.sort_unstable();
        let mut used: Vec<u8> = zones.iter().map(|&(_, class)| class).collect();
        used.sort_unstable();
        used.dedup();
        let dense = |class| used.partition_point(|&other| other < class) as u8;
        zones.into_iter().map(|(zone, class)| (zone, dense(class))).collect()
    }
}

impl Use {
    fn class(&self) -> u8 {
        let filled = (self.blocks.max(1).ilog2() / 2).min(5) as u8;
        let uses = self.read + self.written;
        let hot = match uses / self.blocks.max(1) {
            0..2 => 0,
            2..8 => 1,
            _ => 2,
        };
        let kind = match self.written * 10 / uses.max(1) {
            0 => 0,
            1..9 => 1,
            _ => 2,
        };
        (filled * 3 + hot) * 3 + kind
    }
}
