//! The possible next steps of a world, and the equality of worlds.

use std::hash::{Hash, Hasher};

use shingle_core::units::Nanos;
use shingle_engine::format::Frame;
use shingle_engine::{Device, Io, Kind, SsdState};
use shingle_testbed::explore::{Digest, Model};

use super::cell::Cell;
use super::medium::{How, Pending, changes};
use super::scope::{Fault, TICK, Want};
use super::world::{Step, WAYS_TO_GO, World};

impl World {
    /// Whether this may be requested now.
    fn may_ask(&self, connection: u64, what: Want) -> bool {
        let up = self.up.as_ref().expect("it is up");
        let of_operator = match what {
            Want::Mode(_) | Want::Drain | Want::Swap | Want::Stop => true,
            Want::Connect => up.connections < 3,
            Want::Replace => up.engine.ssd_state() == SsdState::In,
            Want::Grow => self.may_grow(),
            Want::Write(block) | Want::WriteFua(block) | Want::Read(block) => {
                // (For a disk that may grow.)
                return block < self.scope.blocks || block < up.engine.status().disk_blocks;
            }
            _ => return true,
        };
        of_operator && connection == 1
    }

    fn hash_rest<H: Hasher>(&self, into: &mut H) {
        let World { asked, crashes, faults, commands, abandoned, disk_blocks, .. } = self;
        (asked, crashes, faults, commands, abandoned, disk_blocks).hash(into);
        self.late.len().hash(into);
        self.late.iter().for_each(|late| late.hash_state(into));
    }

    fn hash_media<H: Hasher>(&self, pending: &[Pending], into: &mut H) {
        self.ssd.hash_state(pending, into);
        self.disk.hash_state(pending, into);
    }
}

impl Model for World {
    type Step = Step;

    fn steps(&self, into: &mut Vec<Step>) {
        let Ok(up) = &self.up else {
            into.push(Step::Start);
            if self.crashes > 0 && self.crashes < self.scope.crashes {
                into.extend((0..3).map(Step::StartCut));
            }
            return;
        };
        // Successful I/O first: then the states without faults and commands are known when those
        // are tried.
        let first = up.pending.iter().position(|pending| self.is_metadata(pending));
        let counts = |io: &usize| {
            let alone = self.scope.one_by_one || !self.is_metadata(&up.pending[*io]);
            alone || first == Some(*io)
        };
        let ends = (0..up.pending.len()).filter(counts);
        into.extend(ends.map(|io| Step::Done { io, how: How::Well }));
        if self.scope.ticks || up.pending.is_empty() {
            into.push(Step::Tick);
        }
        if self.asked < self.scope.commands && !up.stops {
            for connection in 1..=up.connections {
                // (All connections without commands are equivalent.)
                if connection > 1 && self.commands[connection as usize - 1] == 0 {
                    break;
                }
                let may = |&(_, what): &(usize, &Want)| self.may_ask(connection, *what);
                let wants = self.scope.wants.iter().enumerate().filter(may);
                into.extend(wants.map(|(want, _)| Step::Ask { connection, want }));
            }
        }
        into.extend(self.owners_step());
        into.extend((0..self.late.len()).map(Step::Lands));
        if self.has_fault(Fault::Io) || self.has_fault(Fault::Flush) {
            for (io, pending) in up.pending.iter().enumerate() {
                let flush = pending.io.kind == Kind::Flush;
                if self.has_fault(if flush { Fault::Flush } else { Fault::Io }) {
                    let medium = self.medium(pending.io.device);
                    let ways = medium.faults(pending, pending.io.device == Device::Disk);
                    into.extend(ways.iter().map(|&how| Step::Done { io, how }));
                }
            }
        }
        if self.has_fault(Fault::SsdGone) && self.ssd.gone.is_none() {
            into.extend((0..WAYS_TO_GO.len()).map(Step::SsdGone));
        }
        if self.has_fault(Fault::Flip) {
            let layout = self.scope.layout();
            let used = |&frame: &u32| self.ssd.cell(layout.frame_page(Frame(frame))) != Cell::ZEROS;
            into.extend((0..layout.frames as u32).filter(used).map(Step::Flip));
        }
    }

    /// The contents of the media, the I/O in flight, and which losses are allowed.
    fn branch_key(&self) -> Option<u64> {
        if self.up.is_err() || self.crashes >= self.scope.crashes {
            return None;
        }
        let mut digest = Digest::default();
        self.hash_media(&[], &mut digest);
        self.pending().iter().filter(|pending| changes(&pending.io)).for_each(|pending| {
            pending.hash_state(&mut digest);
        });
        self.oracle.hash_for_crash(&mut digest);
        self.hash_rest(&mut digest);
        Some(digest.finish())
    }

    fn branches(&self, into: &mut Vec<Step>) {
        if self.up.is_err() || self.crashes >= self.scope.crashes {
            return;
        }
        into.extend((0..self.cut_outcomes() as u32).map(Step::Cut));
        if self.scope.kills {
            into.extend((0..self.kill_outcomes()).map(Step::Kill));
        }
    }

    fn after(&self, step: &Step) -> World {
        match *step {
            Step::Cut(outcome) => return self.cut(outcome),
            Step::Kill(arrived) => return self.kill(arrived),
            Step::Start => return self.clone().started(),
            Step::StartCut(halves) => return self.clone().start_cut(halves),
            _ => {}
        }
        let mut world = self.clone();
        match *step {
            Step::Ask { connection, want } => world.ask(connection, want),
            Step::Done { io, how } => world.done(io, how),
            Step::Tick => {
                let up = world.up.as_mut().expect("it is up");
                up.now = Nanos(up.now.0 + TICK.0);
                up.engine.tick(up.now);
            }
            Step::SsdGone(way) => {
                world.faults += 1;
                world.ssd.gone = Some(WAYS_TO_GO[way]);
            }
            Step::Flip(frame) => {
                world.faults += 1;
                world.ssd.flip(world.scope.layout().frame_page(Frame(frame)));
            }
            Step::Lands(late) => {
                let late = world.late.remove(late);
                let medium =
                    if late.io.device == Device::Ssd { &mut world.ssd } else { &mut world.disk };
                let pages = medium.written(&[late]);
                medium.kill(pages);
            }
            Step::PutIn => world.put_in(),
            Step::Abandon => world.abandon(),
            Step::KeepIn => {
                let up = world.up.as_mut().expect("it is up");
                assert!(up.engine.keep_ssd_in(), "nothing was given up");
            }
            Step::Cut(_) | Step::Kill(_) | Step::Start | Step::StartCut(_) => unreachable!("above"),
        }
        world.effects();
        world
    }

    fn fingerprint(&self) -> u64 {
        let mut digest = Digest::default();
        self.hash_rest(&mut digest);
        self.hash_media(self.pending(), &mut digest);
        match &self.up {
            Err(down) => {
                down.hash(&mut digest);
                self.oracle.hash_for_crash(&mut digest);
            }
            Ok(up) => {
                (up.connections, up.stops).hash(&mut digest);
                self.oracle.hash_state(&mut digest);
                up.engine.hash_state(&mut digest);
                digest.unordered(&up.pending, |pending, one| pending.hash_state(one));
            }
        }
        digest.finish()
    }

    fn is_at_rest(&self) -> bool {
        match &self.up {
            Ok(up) => self.oracle.under_way() == 0 && !up.stops && self.has_changed(),
            Err(_) => false,
        }
    }

    fn is_calm(step: &Step) -> bool {
        matches!(
            step,
            Step::Done { how: How::Well, .. }
                | Step::Tick
                | Step::Start
                | Step::PutIn
                | Step::Abandon
                | Step::KeepIn
        )
    }

    fn is_time(step: &Step) -> bool {
        *step == Step::Tick
    }

    fn says(&self, step: &Step) -> String {
        match *step {
            Step::Ask { connection, want } => {
                format!("connection {connection} wants {:?}", self.scope.wants[want])
            }
            Step::Done { io, .. } => match self.pending().get(io) {
                Some(Pending { io: Io { device, kind, page, buffers, .. }, .. }) => {
                    format!("{device:?} {kind:?} {page} +{}", buffers.len())
                }
                None => "no such I/O".to_owned(),
            },
            Step::Cut(outcome) => {
                let left = [&self.ssd, &self.disk].map(|medium| medium.left_by_cut(self.pending()));
                let mut outcome = outcome as usize;
                let mut says = vec!["the power goes".to_owned()];
                for (device, left) in ["SSD", "disk"].iter().zip(left) {
                    for (page, cells) in left {
                        let which = ["old".to_owned(), "new".to_owned(), "torn".to_owned()];
                        let at = outcome % cells.len();
                        outcome /= cells.len();
                        let what = which.get(at).cloned().unwrap_or(format!("newer {at}"));
                        says.push(format!("{device} page {page} {what}"));
                    }
                }
                says.join(", ")
            }
            _ => String::new(),
        }
    }
}
