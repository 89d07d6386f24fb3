//! The executor for tests catches what it is there to catch: each broken rule by itself.

use shingle_core::units::{Block, Zone};
use shingle_translation::testing::Bench;
use shingle_translation::{
    BufferState, Counters, Layout, NoQueue, Piece, Place, Queue, Step, Translation, Work,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

const LAYOUT: Layout = Layout { zone_blocks: 4, buffer_blocks: 4, zones: 2 };

/// Writes block 0 into the buffer, then does the steps of a script as idle work.
#[derive(Clone)]
struct Script {
    steps: Vec<Step>,
    /// Where block 0 is said to be from the first Commit or the end of the script on.
    ends: Place,
    /// The step to come; `None` in the write before the script.
    at: Option<usize>,
    now: Place,
    counters: Counters,
    pointers: [u64; 2],
}

impl Translation for Script {
    fn blocks(&self) -> u64 {
        8
    }
    fn locate(&mut self, _: Block, count: u64, out: &mut Vec<Piece>) {
        out.push(Piece { place: self.now, count: 1 });
        out.push(Piece { place: Place::Nowhere, count: count - 1 });
    }
    fn begin(&mut self, work: Work) {
        if let Work::Write { count, .. } = work {
            self.counters.written_blocks += count;
        }
    }
    fn next(&mut self, _: &dyn Queue) -> Option<Step> {
        match self.at {
            Some(at) => {
                let step = self.steps.get(at).copied();
                if step.is_none_or(|step| step == Step::Commit) {
                    self.now = self.ends;
                }
                self.at = Some(at + 1);
                step
            }
            None if self.now == Place::Nowhere => {
                self.now = Place::Buffer(0);
                Some(Step::Buffer { block: Block(0), count: 1, at: 0 })
            }
            None => None,
        }
    }
    fn counters(&self) -> &Counters {
        &self.counters
    }
    fn buffer_state(&self) -> BufferState {
        let held = u64::from(matches!(self.now, Place::Buffer(_)));
        BufferState { blocks: held, zones: held, used: 1, free: 3 }
    }
    fn write_pointer(&self, zone: Zone) -> u64 {
        self.pointers[zone.index()]
    }
    fn memory_bytes(&self) -> u64 {
        0
    }
    fn copy(&self) -> Box<dyn Translation> {
        Box::new(self.clone())
    }
}

/// Block 0 in the buffer and durable; then the steps. What the bench says to it, if anything.
fn verdict(steps: &[Step], ends: Place, pointers: [u64; 2], safe: bool) -> Option<String> {
    let new = |steps: &[Step]| {
        let now = Place::Nowhere;
        let counters = Counters::default();
        let steps = steps.to_vec();
        Box::new(Script { steps, ends, at: None, now, counters, pointers: [0; 2] })
    };
    let mut script = new(steps);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut bench = Bench::new(new(steps), LAYOUT, safe);
        bench.run(Work::Write { block: Block(0), count: 1 }, &NoQueue);
        bench.flush();
        (script.at, script.now) = (Some(0), Place::Buffer(0));
        (script.counters.written_blocks, script.pointers) = (1, pointers);
        bench.replace(script.clone());
        bench.run(Work::Idle, &NoQueue);
    }));
    outcome.err().map(|panic| panic.downcast_ref::<String>().expect("a message").clone())
}

const READ: Step = Step::Read { from: Place::Buffer(0), block: Block(0), count: 1 };
const APPEND: Step = Step::Append { zone: Zone(0), block: Block(0), count: 1 };
const OVER: Step = Step::Buffer { block: Block(1), count: 1, at: 0 };
const ZEROS: Step = Step::Read { from: Place::Nowhere, block: Block(1), count: 1 };
const RESET: Step = Step::Reset { zone: Zone(0) };
const NATIVE: Place = Place::Native(0);

#[test]
fn each_broken_rule_is_caught() {
    let append = |block, count| Step::Append { zone: Zone(0), block: Block(block), count };
    let read = |from| Step::Read { from, block: Block(1), count: 2 };
    let buffer = |block, count, at| Step::Buffer { block: Block(block), count, at };
    let cases: &[(&[Step], Place, u64, Option<&str>)] = &[
        (&[READ, APPEND, Step::Commit, ZEROS, OVER], NATIVE, 1, None),
        (&[append(0, 3), append(3, 2)], NATIVE, 4, Some("over the end")),
        (&[read(Place::Native(0))], NATIVE, 0, Some("beyond the end")),
        (&[append(1, 1), read(Place::Native(0))], NATIVE, 1, Some("beyond the end")),
        (&[read(Place::Buffer(3))], NATIVE, 0, Some("beyond the end")),
        (&[READ, buffer(0, 1, 4)], NATIVE, 0, Some("outside")),
        (&[READ, buffer(0, 2, 1)], NATIVE, 0, Some("not in memory")),
        (&[READ, APPEND, ZEROS, OVER, Step::Commit], NATIVE, 1, Some("power cut")),
        (&[READ, APPEND, Step::Commit], NATIVE, 0, Some("write pointer")),
        (&[APPEND, Step::Commit], NATIVE, 1, Some("power cut")),
        (&[READ, append(1, 1), append(0, 1)], NATIVE, 2, Some("is (block, version)")),
        (&[READ, append(1, 1), Step::Commit], NATIVE, 1, Some("no step or work has named it")),
        (&[READ, append(1, 1)], NATIVE, 1, Some("no step or work has named it")),
    ];
    for &(steps, ends, pointer, wanted) in cases {
        let said = verdict(steps, ends, [pointer, 0], true);
        match (&said, wanted) {
            (None, None) => {}
            (Some(said), Some(wanted)) if said.contains(wanted) => {}
            _ => panic!("{steps:?}: {said:?} and not {wanted:?}"),
        }
    }
}

#[test]
fn only_a_zone_that_is_being_rewritten_may_be_lost() {
    let native = Step::Read { from: NATIVE, block: Block(0), count: 1 };
    let rewrite = [READ, APPEND, Step::Commit, native, RESET, APPEND];
    let never = [READ, APPEND, Step::Commit, native, RESET];
    assert_eq!(verdict(&rewrite, NATIVE, [1, 0], false), None);
    assert!(verdict(&rewrite, NATIVE, [1, 0], true).expect("lost").contains("power cut"));
    assert!(verdict(&never, NATIVE, [0, 0], false).expect("lost").contains("block 0"));
}

/// Block 0 is durable in the buffer. What the bench says to a translation that is opened with it elsewhere.
#[test]
fn what_is_opened_has_all_blocks_where_they_were_durable() {
    let verdict = |now: Place| {
        let script = |now| {
            let (steps, counters) = (Vec::new(), Counters::default());
            Box::new(Script { steps, ends: now, at: None, now, counters, pointers: [0; 2] })
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut bench = Bench::new(script(Place::Nowhere), LAYOUT, true);
            bench.run(Work::Write { block: Block(0), count: 1 }, &NoQueue);
            bench.flush();
            let saved = bench.crash(|_| script(now));
            assert_eq!(saved.pointers, [0; 2]);
            assert_eq!(saved.runs, [(Block(0), Piece { place: Place::Buffer(0), count: 1 })]);
        }));
        outcome.err().map(|panic| panic.downcast_ref::<String>().expect("a message").clone())
    };
    assert_eq!(verdict(Place::Buffer(0)), None);
    assert!(verdict(Place::Nowhere).expect("lost").contains("opened from"));
    assert!(verdict(Place::Buffer(1)).expect("moved").contains("opened from"));
}
