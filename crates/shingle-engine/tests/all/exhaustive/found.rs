//! Sequences of steps with which exploration found broken promises, kept as tests: the engine keeps
//! the promises now, and with the bug of then it does not.

use shingle_engine::Bug;
use shingle_testbed::explore::{Quiet, replay};

use super::medium::How;
use super::scopes::named;
use super::world::{Step, World};

fn only_a_bug_breaks(bug: Bug, scope: &str, steps: &[Step]) {
    let broken = |bug| {
        let world = World::with(named(scope), bug);
        replay(world, steps).err().map(|broken| broken.what)
    };
    assert_eq!(broken(None), None);
    let quiet = Quiet::begin();
    let with_bug = broken(Some(bug));
    drop(quiet);
    assert!(with_bug.is_some(), "{bug:?} breaks nothing");
}

/// Found by exploring `replaced-gone` with three commands, which takes minutes. The SSD has failed,
/// a write to a block that is dirty on it is in flight, and the SSD is being replaced: its data is
/// not given up before it is known whether the block can be read.
#[test]
fn an_ssd_is_not_given_up_while_a_command_uses_a_dirty_block() {
    use How::*;
    use Step::*;
    let steps = [
        Done { io: 0, how: Well },      // Disk Flush 0 +0
        Done { io: 0, how: Well },      // Ssd Flush 0 +0
        Ask { connection: 1, want: 0 }, // connection 1 wants WriteFua(0)
        Done { io: 0, how: Well },      // Ssd Write 12 +1
        Done { io: 0, how: Well },      // Ssd Write 2 +1
        Done { io: 0, how: Well },      // Ssd Flush 0 +0
        Done { io: 0, how: Well },      // Ssd Write 10 +1
        Done { io: 0, how: Well },      // Ssd Flush 0 +0
        Done { io: 0, how: Well },      // Ssd Write 11 +1
        Done { io: 0, how: Well },      // Ssd Flush 0 +0
        Done { io: 0, how: Well },      // Ssd Write 0 +1
        Done { io: 0, how: Well },      // Ssd Flush 0 +0
        Done { io: 0, how: Well },      // Ssd Write 1 +1
        Done { io: 0, how: Well },      // Ssd Flush 0 +0
        Tick,                           //
        Done { io: 1, how: Well },      // Ssd Write 3 +1
        SsdGone(0),                     //
        Done { io: 0, how: Well },      // Ssd Read 12 +1
        Ask { connection: 1, want: 0 }, // connection 1 wants WriteFua(0)
        Done { io: 0, how: Well },      // Ssd Flush 0 +0
        Done { io: 1, how: Well },      // Ssd Write 0 +1
        Done { io: 1, how: Well },      // Ssd Write 0 +1
        Done { io: 1, how: Well },      // Ssd Write 0 +1
        Done { io: 1, how: Well },      // Ssd Write 0 +1
        Ask { connection: 1, want: 1 }, // connection 1 wants Replace
        Abandon,                        //
        Cut(0), // the power goes, SSD page 7 old, SSD page 3 old, SSD page 13 old
        Start,  //
    ];
    only_a_bug_breaks(Bug::GivenUpInUse, "replaced-gone", &steps);
}

/// Found by seed 1261 of the theme `Changes`, and then in its shortest form. The disk forgets a
/// trim; a read of the block waits for another one; a write to it arrives, and has not begun. The
/// data read must not be cached as clean.
#[test]
fn what_a_lost_trim_left_is_not_cached_though_a_write_is_to_come() {
    use How::*;
    use Step::*;
    let steps = [
        Done { io: 0, how: Well },      // Disk Flush 0 +0
        Done { io: 0, how: Well },      // Ssd Flush 0 +0
        Ask { connection: 1, want: 0 }, // connection 1 wants Trim(1)
        Done { io: 0, how: Well },      // Disk Trim(1) 1 +0
        Ask { connection: 1, want: 1 }, // connection 1 wants Read(1)
        Ask { connection: 1, want: 1 }, // connection 1 wants Read(1)
        Done { io: 0, how: Fails },     // Disk Flush 0 +0
        Ask { connection: 1, want: 2 }, // connection 1 wants Write(1)
        Done { io: 0, how: Well },      // Disk Read 1 +1
        Done { io: 0, how: Well },      // Disk Read 1 +1
        Done { io: 0, how: Well },      // Ssd Write 12 +1
        Done { io: 0, how: Well },      // Ssd Write 13 +1
        Cut(2), // the power goes, SSD page 13 old, SSD page 2 new, SSD page 6 old, disk page 1 old
        Start,  //
    ];
    only_a_bug_breaks(Bug::TrustedBeforeWritten, "told-written", &steps);
}

/// Found by exploring `put-in-read`. A block is read from the disk to be cached when the SSD fails;
/// the SSD is given up before the disk has answered. The data must not be written to an SSD any
/// more: it may be another one by then.
#[test]
fn a_fill_of_an_ssd_that_has_failed_is_not_written_to_the_next() {
    use How::*;
    use Step::*;
    let steps = [
        Tick,
        Done { io: 0, how: Well },      // Ssd Write 2 +1
        Done { io: 0, how: Well },      // Ssd Flush 0 +0
        Done { io: 0, how: Well },      // Ssd Write 10 +1
        Done { io: 0, how: Well },      // Ssd Flush 0 +0
        Done { io: 0, how: Well },      // Ssd Write 11 +1
        Ask { connection: 1, want: 0 }, // connection 1 wants Read(1)
        Done { io: 1, how: Well },      // Disk Read 1 +1
        Ask { connection: 1, want: 0 }, // connection 1 wants Read(1)
        SsdGone(0),                     //
        Done { io: 1, how: Well },      // Ssd Write 13 +1
        Done { io: 0, how: Well },      // Ssd Flush 0 +0
        Done { io: 1, how: Well },      // Ssd Write 0 +1
        Done { io: 1, how: Well },      // Ssd Write 0 +1
        Done { io: 1, how: Well },      // Ssd Write 0 +1
        Done { io: 1, how: Well },      // Ssd Write 0 +1
        Ask { connection: 1, want: 1 }, // connection 1 wants Replace
        Abandon,                        //
        Done { io: 0, how: Well },      // Disk Read 1 +1
        PutIn,                          //
    ];
    only_a_bug_breaks(Bug::FillOfFailed, "put-in-read", &steps);
}
