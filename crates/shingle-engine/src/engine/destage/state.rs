//! Hashes the state of destages, by block and not by key or slot.

use std::hash::{Hash, Hasher};

use shingle_core::units::Block;

use super::super::contents::Contents;
use super::super::keys::JobKey;
use super::super::state::{View, unordered};
use super::bands::{Band, Bands, Content, NO_RUN, Place, UnderWay};
use super::{Destages, Job, Run};
use crate::data::Data;

impl<D: Data> Destages<D> {
    pub(in super::super) fn block_of(&self, key: JobKey) -> Block {
        self.jobs[key].block
    }

    pub(in super::super) fn hash_state<H: Hasher + Default>(
        &self,
        contents: &Contents,
        view: &View,
        into: &mut H,
    ) {
        let Destages { jobs, queued, runs, bands, lists: _, first_run, in_memory, writing, .. } =
            self;
        let Destages { pace, leaving, disk, failures, backing_off, .. } = self;
        let Destages { through_waiting, woken, taken_blocks: _, bugs: _, .. } = self;
        unordered(jobs.iter(), into, |(_, job), into| {
            let Job { slot, block, version, run, number, leaves, buffer, through, moved } = job;
            let current = contents.mapping(*slot).version == *version;
            // 0 for a job that a request waits for, or that belongs to a band.
            let none = through.is_some() || *run == NO_RUN;
            let run = if none { 0 } else { run.wrapping_sub(*first_run) };
            (block, current, run, view.record(*number), leaves, moved).hash(into);
            buffer.as_ref().map(Data::crc).hash(into);
            through.map(|op| (view.op)(op)).hash(into);
        });
        let block = |key: &JobKey| self.jobs[*key].block;
        queued.len().hash(into);
        queued.iter().for_each(|key| block(key).hash(into));
        runs.len().hash(into);
        for Run { jobs, left, number } in runs {
            (jobs.len(), left, view.record(*number)).hash(into);
            jobs.iter().for_each(|key| block(key).hash(into));
        }
        bands.hash_state(*first_run, &block, view, into);
        pace.hash_state(view.now, into);
        disk.hash_state(view, into);
        (in_memory, writing, leaving).hash(into);
        unordered(failures.iter(), into, |(block, failures), into| (block, failures).hash(into));
        backing_off.len().hash(into);
        for &(until, slot) in backing_off {
            (view.ahead(until), (view.slot)(slot)).hash(into);
        }
        through_waiting.len().hash(into);
        for &(slot, op) in through_waiting {
            ((view.slot)(slot), (view.op)(op)).hash(into);
        }
        woken.len().hash(into);
        woken.iter().for_each(|&(op, resumes)| ((view.op)(op), resumes).hash(into));
    }
}

impl<D: Data> Bands<D> {
    fn hash_state<H: Hasher + Default>(
        &self,
        first_run: u64,
        block: &impl Fn(&JobKey) -> Block,
        view: &View,
        into: &mut H,
    ) {
        // `piece_blocks` never changes.
        let Bands { waiting, under_way, excluded, held, counts: _, .. } = self;
        waiting.len().hash(into);
        for Band { blocks, jobs, after_run } in waiting {
            (blocks, jobs.len(), after_run.saturating_sub(first_run)).hash(into);
            jobs.iter().for_each(|key| block(key).hash(into));
        }
        under_way.is_some().hash(into);
        if let Some(band) = under_way {
            let UnderWay { first, places, stage, at, left, gives_up, excludes } = band;
            (first, places.len(), stage, at, left, gives_up, excludes).hash(into);
            for Place { job, content } in places {
                job.is_some().hash(into);
                std::mem::discriminant(content).hash(into);
                if let Content::Loaded(data) = content {
                    data.crc().hash(into);
                }
            }
        }
        unordered(excluded.iter(), into, |band, into| band.hash(into));
        view.ops(held.iter(), into);
    }
}
