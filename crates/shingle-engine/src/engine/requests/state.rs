//! Hashes the state of commands and operations, by content and not by key.

use std::hash::{Hash, Hasher};

use super::super::keys::{CommandKey, OpKey};
use super::super::state::{View, unordered};
use super::Requests;
use super::block::BlockOp;
use super::command::{Command, Running};
use super::losses::Losses;
use crate::data::Data;

impl<D: Data> Requests<D>
where
    D::Payload: Hash,
{
    /// A number that identifies an operation without its key. No two unanswered operations have the
    /// same, and of each block at most one operation is answered.
    pub(in super::super) fn op_id(&self, key: OpKey) -> u64 {
        let op = &self.ops[key];
        let command = if op.answered { u64::MAX } else { self.running[op.command].command.id };
        command.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ op.block.0
    }

    pub(in super::super) fn command_id(&self, key: CommandKey) -> u64 {
        self.running[key].command.id
    }

    pub(in super::super) fn hash_state<H: Hasher + Default>(&self, view: &View, into: &mut H) {
        let Requests { depth: _, disk_blocks, waiting, running, unfinished, durable, .. } = self;
        let Requests { numbers: _, ops, locks, ready, room_queue, frame_queue, losses, .. } = self;
        let Requests { trimming, trim_queue, replies, counts: _, observer: _, bugs: _, .. } = self;
        (disk_blocks, waiting.len()).hash(into);
        for (command, reported) in waiting {
            hash_command(command, into);
            losses.missed(*reported).hash(into);
        }
        unordered(running.iter(), into, |(_, running), into| {
            let Running { command, request: _, number: _, next, end, outstanding, .. } = running;
            let Running { error, in_cache, sequential: _, on_disk, reported, needs, .. } = running;
            hash_command(command, into);
            (next, end, outstanding, error, in_cache).hash(into);
            (view.write(*on_disk), losses.missed(*reported)).hash(into);
            let needs = needs.map(|(record, write)| (view.record(record), view.write(write)));
            needs.hash(into);
        });
        for keys in [unfinished.len(), durable.len(), replies.len()] {
            keys.hash(into);
        }
        unfinished.iter().chain(durable).for_each(|&key| (view.command)(key).hash(into));
        unordered(ops.iter(), into, |(key, op), into| {
            let BlockOp { command: _, block, place, write, part, slot, was_dirty, .. } = op;
            let BlockOp { asked, answered, frame, crc, buffer, stage, since, .. } = op;
            (self.op_id(key), block, place, write, part, slot.is_some()).hash(into);
            (was_dirty, asked, answered, frame, crc, stage).hash(into);
            buffer.as_ref().map(Data::crc).hash(into);
            view.age(*since, view.room_timeout).hash(into);
        });
        unordered(locks.all(), into, |(block, waiting), into| {
            block.hash(into);
            view.ops(waiting.iter(), into);
        });
        view.ops(ready.iter(), into);
        trimming.hash(into);
        view.ops(trim_queue.iter(), into);
        view.ops(room_queue.iter(), into);
        view.ops(frame_queue.iter(), into);
        losses.hash_state(into);
    }
}

fn hash_command<D: Data, H: Hasher>(command: &Command<D>, into: &mut H)
where
    D::Payload: Hash,
{
    let Command { id, connection, op, offset, bytes, fua, data } = command;
    (id, connection, op, offset, bytes, fua, data).hash(into);
}

impl Losses {
    /// How many losses are not reported to a connection to which `reported` are.
    fn missed(&self, reported: u64) -> u64 {
        self.count().wrapping_sub(reported)
    }
}
