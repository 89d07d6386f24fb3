//! A store in memory and in virtual time, whose devices complete I/O at once or as a test
//! determines.

use shingle_core::units::{BLOCK_BYTES, Nanos};
use shingle_engine::format::PAGE_BYTES;
use shingle_engine::settings::Settings;
use shingle_engine::{Command, CommandOp, Config, Device, Engine, Failed, Io, Reply};

use super::{Held, carry_out, serve};

/// See the module.
pub(crate) struct Store {
    pub(crate) engine: Engine,
    pub(crate) ssd: Held,
    pub(crate) disk: Held,
    pub(crate) now: Nanos,
    /// Number of commands so far.
    pub(crate) commands: u64,
    pub(crate) replies: Vec<Reply>,
}

/// The outcome of an I/O.
pub(crate) enum Fate {
    Done,
    Failed,
    /// It stays in flight until a test ends it.
    Stays,
}

impl Store {
    /// With LRU, over a disk of `disk_blocks`.
    pub(crate) fn new(disk_blocks: u64, change: impl FnOnce(&mut Config)) -> Store {
        let (engine, ssd) = serve(&Settings::new("lru"), disk_blocks, change);
        let (disk, now, replies) = (Held::new(), Nanos::ZERO, Vec::new());
        Store { engine, ssd, disk, now, commands: 0, replies }
    }

    /// Submits a command, and returns its number.
    pub(crate) fn ask(&mut self, op: CommandOp, block: u64, blocks: u64) -> u64 {
        self.commands += 1;
        let bytes = blocks * BLOCK_BYTES;
        let data = if op == CommandOp::Write { vec![7; bytes as usize] } else { Vec::new() };
        let command = Command::new(self.commands, op, block * BLOCK_BYTES, bytes);
        self.engine.submit(Command { data, ..command });
        self.commands
    }

    /// Completes all I/O, with the outcome of `fate`. Returns what stays in flight.
    pub(crate) fn work(&mut self, mut fate: impl FnMut(&Io) -> Fate) -> Vec<Io> {
        let mut stays = Vec::new();
        loop {
            let effects = self.engine.take_effects();
            self.replies.extend(effects.replies);
            if effects.ios.is_empty() && !self.engine.has_more_to_do() {
                return stays;
            }
            for io in effects.ios {
                match fate(&io) {
                    Fate::Done => self.end(io),
                    Fate::Failed => self.engine.io_done(io.id, Err(Failed), io.buffers),
                    Fate::Stays => stays.push(io),
                }
            }
        }
    }

    /// Completes all I/O successfully.
    pub(crate) fn settle(&mut self) {
        self.work(|_| Fate::Done);
    }

    /// Executes and completes an I/O.
    pub(crate) fn end(&mut self, mut io: Io) {
        let device = if io.device == Device::Ssd { &mut self.ssd } else { &mut self.disk };
        carry_out(device, &mut io);
        self.engine.io_done(io.id, Ok(io.buffers.len() * PAGE_BYTES), io.buffers);
    }

    /// Time passes, and the engine gets a tick.
    pub(crate) fn tick(&mut self, time: Nanos) {
        self.now += time;
        self.engine.tick(self.now);
    }

    /// Time passes in ticks, as the thread of a store makes them, and all I/O is completed.
    pub(crate) fn wait(&mut self, millis: u64) {
        for _ in 0..millis / 50 {
            self.tick(Nanos::from_millis(50));
            self.settle();
        }
    }

    /// Whether it was answered without an error.
    pub(crate) fn is_answered(&self, command: u64) -> bool {
        self.replies.iter().any(|reply| reply.id == command && reply.result.is_ok())
    }
}
