//! The end of a life: several power cuts or kills, and finally an orderly stop. The recovered
//! contents must be allowed.

use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_engine::format::State;
use shingle_engine::recover::{Recovered, recover};
use shingle_engine::{Bug, Command, CommandOp, Device, SsdState};

use super::device::Faults;
use super::oracle::name;
use super::world::{World, open, page_of};

impl World {
    /// A power cut or a kill, and a new start.
    pub(super) fn crash(&mut self) {
        let power = !self.rng.one_in(4);
        self.stop_now(power);
        if self.rng.one_in(2) {
            self.ssd.gone = None;
        }
        if self.tells {
            println!("crash, power {power}, {}", self.says());
        }
        if self.abandoned {
            // The losses were reported to the operator who gave it up.
            for block in &self.engine.status().lost {
                self.oracle.forget(block.0);
            }
        }
        if self.abandoned || self.engine.ssd_state() == SsdState::Out && self.rng.one_in(2) {
            self.take_another();
        }
        let found = self.mark_in_use(power);
        // It may have been about to grow.
        let disk_blocks = found.journal.superblock().disk_bytes / BLOCK_BYTES;
        assert!(disk_blocks >= self.disk_blocks, "the disk has shrunk");
        self.disk_blocks = disk_blocks;
        self.count_bands();
        let World { policy, layout, disk_blocks, band_blocks, config, .. } = self;
        self.engine = open(found, policy, layout.slots, *disk_blocks, *band_blocks, config);
        self.connections.clear();
        self.lost.clear();
        self.forgotten = 0;
        self.connect();
        self.engine.tick(self.now);
        self.effects();
    }

    /// Recovers, and writes the superblock for the new start, which may be interrupted too.
    fn mark_in_use(&mut self, power: bool) -> Recovered {
        loop {
            let mut found =
                recover(&mut self.ssd).expect("a crash damages nothing that was flushed");
            self.look_at(&found, power);
            let [one, other] = found.journal.mark_in_use();
            self.ssd.keep(one.page, &one.bytes);
            if !self.rng.one_in(8) {
                self.ssd.keep(other.page, &other.bytes);
                return found;
            }
        }
    }

    /// A power cut without a new start.
    pub(super) fn power_goes(&mut self) {
        self.stop_now(true);
    }

    fn stop_now(&mut self, power: bool) {
        let of = |device| self.pending.iter().map(|p| &p.io).filter(move |io| io.device == device);
        let ssd: Vec<_> = of(Device::Ssd).collect();
        let disk: Vec<_> = of(Device::Disk).collect();
        let late = self.config.bug == Some(Bug::LockEndsWithProcess);
        self.late.clear();
        if late && !power {
            self.late.extend(self.pending.drain(..).map(|pending| pending.io));
        } else if power {
            self.ssd.cut(&ssd, &mut self.rng);
            self.disk.cut(&disk, &mut self.rng);
        } else {
            self.ssd.kill(&ssd, &mut self.rng);
            self.disk.kill(&disk, &mut self.rng);
        }
        self.pending.clear();
    }

    /// Checks that the contents of each block after a crash are allowed, and that the disk has all
    /// clean blocks.
    pub(super) fn look_at(&mut self, found: &Recovered, power: bool) {
        let page_of = |block| page_of(found, &self.ssd, &self.disk, block);
        for (block, frame) in found.live() {
            let entry = found.journal.table.entry(frame);
            let page = self.ssd.page(self.layout.frame_page(frame));
            let fits = crc32c::crc32c(page) == entry.crc;
            if entry.state == State::Clean && fits {
                let disk = self.disk.page(block.0);
                assert!(
                    page == disk,
                    "block {} is said to be clean: the SSD has {}, the disk {}",
                    block.0,
                    name(page),
                    name(disk)
                );
            }
        }
        self.oracle.cut(page_of, power);
    }

    /// Ends everything in order.
    pub(super) fn end(&mut self) {
        self.end_exchange();
        self.until(|engine| engine.is_idle(), "commands");
        self.disk.gone = None;
        let faults = (self.ssd.faults, self.disk.faults);
        (self.ssd.faults, self.disk.faults) = (Faults::default(), Faults::default());
        if self.engine.status().errors.ssd_failed {
            // It may have recovered when the store starts again.
            return self.crash();
        }
        self.ssd.gone = None;
        // Reads everything once more as a client.
        for block in 0..self.disk_blocks {
            self.commands += 1;
            let (id, op) = (self.commands, CommandOp::Read);
            let (offset, bytes) = (block * BLOCK_BYTES, BLOCK_BYTES);
            let (connection, data) = (self.connections[0], Vec::new());
            let mut command = Command { id, connection, op, offset, bytes, fua: false, data };
            self.oracle.ask(&mut command);
            self.engine.submit(command);
            self.effects();
            while !self.engine.can_submit() {
                self.complete();
                self.effects();
            }
        }
        self.until(|engine| engine.is_idle(), "reads");
        let is_draining = self.rng.one_in(2);
        if is_draining {
            self.engine.drain();
            self.until(
                |engine| {
                    let status = engine.status();
                    status.dirty_blocks == status.lost.len() as u64
                },
                "what is dirty",
            );
        }
        let lost = self.engine.status().lost;
        self.engine.shut_down();
        self.until(|engine| engine.is_stopped(), "the end");
        assert!(self.pending.is_empty());
        let cut = self.rng.one_in(2);
        if cut {
            self.ssd.cut(&[], &mut self.rng);
            self.disk.cut(&[], &mut self.rng);
        }
        let found = recover(&mut self.ssd).expect("shut down in order");
        assert!(found.clean, "it was shut down in order");
        assert_eq!((found.replayed_pages, found.corrections.len()), (0, 0));
        self.oracle.check_all(cut, |block| {
            let lost = lost.contains(&Block(block));
            page_of(&found, &self.ssd, &self.disk, block).filter(|_| !lost)
        });
        if is_draining {
            let dirty = |frame| found.journal.table.entry(frame).state == State::Dirty;
            let dirty = found.live().filter(|&(_, frame)| dirty(frame)).count();
            assert!(dirty <= lost.len(), "all was destaged");
            self.oracle.check_all(cut, |block| {
                Some(*self.disk.page(block)).filter(|_| !lost.contains(&Block(block)))
            });
        }
        (self.ssd.faults, self.disk.faults) = faults;
    }
}
