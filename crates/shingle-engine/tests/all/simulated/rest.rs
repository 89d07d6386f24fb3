//! A stopped store, in order or not, with bit flips on its SSD before the next start.

use std::collections::HashMap;

use shingle_engine::format::journal::JournalPage;
use shingle_engine::format::layout::Copy;
use shingle_engine::format::table::TablePage;
use shingle_engine::format::{PAGE_BYTES, State};
use shingle_engine::recover::{Findings, Recovered, recover};

use super::Rng;
use super::oracle::name;
use super::world::{Theme, World, open, page_of};

/// A page of the journal whose other copy was torn by the crash: it is unknown that it was ever
/// valid.
const ONLY_COPY: &str = "only copy of a page at the end of the journal";
/// A place without meaning.
const NOTHING: &str = "unused page of the journal, or torn page of the table";

impl World {
    /// A store at rest.
    pub(crate) fn at_rest(seed: u64) -> World {
        let mut world = World::new(seed, Theme::Crashes, None);
        for _ in 0..world.rng.range(20, 400) {
            world.step();
        }
        if world.rng.one_in(2) {
            world.end();
        } else {
            world.power_goes();
        }
        world
    }

    /// The result of one flip, by its number: where it was, and whether it was reported.
    pub(crate) fn flipped(&self, number: u64) -> String {
        let mut rng = Rng::new(self.seed << 32 | number);
        let before = recover(&mut self.ssd.clone()).expect("nothing is damaged");
        // Metadata are a small part of all pages, but get half of all flips.
        let metadata = self.layout.frame_page(shingle_engine::format::Frame(0));
        let pages = if rng.one_in(2) { metadata } else { self.layout.pages() };
        let (page, bit) = (rng.below(pages), rng.below(PAGE_BYTES as u64 * 8) as usize);
        let place = self.place(&before, page);
        let mut ssd = self.ssd.clone();
        ssd.flip_bit(page, bit);
        let found = match recover(&mut ssd) {
            Ok(found) => found,
            Err(why) => {
                // The crash had torn the other copy.
                assert!(before.findings.damaged_pages > 0, "{place}: {why}");
                return format!("{place}, the only copy: refused");
            }
        };
        let (found_then, found_now) = (before.findings, found.findings);
        for block in 0..self.disk_blocks {
            // (Or the block is an older content; the oracle knows whether that is allowed.)
            let now = page_of(&found, &ssd, &self.disk, block);
            let then = page_of(&before, &self.ssd, &self.disk, block);
            assert!(
                now.is_none()
                    || now == then
                    || place == ONLY_COPY
                    || found_now.void_records > found_then.void_records,
                "block {block} is {:?} for a flip in {place}, not {:?}",
                now.map(|page| name(page)),
                then.map(|page| name(page)),
            );
        }
        if place == NOTHING {
            assert!(found.live().eq(before.live()) && found_now == found_then, "it is not read");
            return format!("{place}: nothing to report");
        }
        if found_now.void_records > found_then.void_records {
            return format!(
                "{place}, not confirmed yet: reported, the block is what it was before"
            );
        }
        // (As `check` does. A clean block may be evicted before it is read.)
        let damaged = found.live().any(|(_, frame)| {
            let page = ssd.page(self.layout.frame_page(frame));
            crc32c::crc32c(page) != found.journal.table.entry(frame).crc
        });
        let World { policy, layout, disk_blocks, config, .. } = self;
        let mut world = World {
            rng,
            disk: self.disk.clone(),
            policy: *policy,
            config: config.clone(),
            pending: Vec::new(),
            connections: Vec::new(),
            lost: Vec::new(),
            late: Vec::new(),
            policies: self.policies.clone(),
            oracle: self.oracle.clone(),
            // (Until its own is made.)
            engine: open(before, policy, layout.slots, *disk_blocks, None, config),
            ssd,
            ..*self
        };
        world.oracle.may_fail = true;
        world.look_at(&found, true);
        world.engine = open(found, policy, layout.slots, *disk_blocks, None, config);
        world.connect();
        world.effects();
        world.end();
        let status = world.engine.status();
        let more = |of: fn(&Findings) -> u64| of(&found_now) > of(&found_then);
        let reported = damaged
            || status.errors.checksums > 0
            || more(|found| found.damaged_pages)
            || more(|found| found.torn_pages)
            || more(|found| found.void_records);
        format!("{place}: {}", if reported { "reported" } else { "not reported" })
    }

    /// What a page contains.
    fn place(&self, found: &Recovered, page: u64) -> &'static str {
        let journal = self.layout.journal_page(1, Copy::One);
        let table = self.layout.table_page(0, Copy::One);
        let frames = self.layout.frame_page(shingle_engine::format::Frame(0));
        if page < journal {
            return "superblock";
        }
        if page < table {
            return self.place_in_journal(found, page);
        }
        if page < frames {
            let place = (page - table) % self.layout.table_pages;
            let owner = found.journal.superblock().owner();
            let good = TablePage::decode(self.ssd.page(page), owner, place as u32).is_ok();
            return if good { "table" } else { NOTHING };
        }
        let live = found.live().find(|(_, frame)| self.layout.frame_page(*frame) == page);
        match live.map(|(_, frame)| found.journal.table.entry(frame).state) {
            Some(State::Clean) => "clean data",
            Some(_) => "dirty data",
            None => "free frame",
        }
    }

    /// Only pages of the journal that recovery replays matter.
    fn place_in_journal(&self, found: &Recovered, page: u64) -> &'static str {
        let superblock = found.journal.superblock();
        let mut follows = HashMap::new();
        for number in 1..=self.layout.journal_pages {
            for copy in Copy::BOTH {
                let at = self.layout.journal_page(number, copy);
                let Ok(page) = JournalPage::decode(self.ssd.page(at), superblock.owner()) else {
                    continue;
                };
                if page.number >= superblock.journal_from {
                    follows.insert(page.previous.max(superblock.journal_from - 1), page.number);
                }
            }
        }
        let mut last = superblock.journal_from - 1;
        while let Some(number) = follows.remove(&last) {
            let copies = Copy::BOTH.map(|copy| self.layout.journal_page(number, copy));
            if copies.contains(&page) {
                let good = |at| {
                    let there = JournalPage::decode(self.ssd.page(at), superblock.owner());
                    there.is_ok_and(|there| there.number == number)
                };
                return match (good(page), copies.iter().all(|&at| good(at))) {
                    (true, true) => "journal",
                    (true, false) => ONLY_COPY,
                    (false, _) => NOTHING,
                };
            }
            last = number;
        }
        NOTHING
    }
}
