//! What a request does next, said without an address.
//!
//! ```text
//! Continue  the last stream, or another one that goes on (Resume)
//! Precede   so that it ends where one of the last jumps went to
//! Follow    where the jump before this one went on to the last time it was made
//! Back      to a place where a request began, by its distance in two stacks: of zones, and in the zone
//! Inside    some blocks behind such a place
//! Near      to an untouched block of a touched zone, so far from the zone's last place
//! New       to a zone that was never touched
//! ```

use shingle_core::units::Op;

/// Where a request goes, as a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// On with the last stream.
    Continue,
    /// On with an earlier stream.
    Resume,
    /// Ends where one of the last jumps went to.
    Precede,
    /// Where the last jump went on to the time before.
    Follow,
    /// To a place of this sort.
    Back(Sort),
    Inside(Sort),
    Near,
    New,
}

/// What a place was last used for: places that are hot, and those that were just passed through, are
/// not the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sort {
    pub(super) op: Op,
    /// A stream went on there, rather than a jump.
    pub(super) within_stream: bool,
    /// It was used before.
    pub(super) again: bool,
    /// Of the run.
    pub(super) size: Size,
}

/// How long a request or a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Size {
    /// Up to 4 KiB, 64 KiB, 1 MiB, more.
    Small,
    Middle,
    Large,
    Huge,
}

impl Size {
    pub(super) fn of(bytes: u64) -> Size {
        match bytes {
            0..=4_096 => Size::Small,
            4_097..=65_536 => Size::Middle,
            65_537..=1_048_576 => Size::Large,
            _ => Size::Huge,
        }
    }
}

impl Sort {
    pub(super) const COUNT: usize = 32;

    pub(super) fn number(self) -> usize {
        let use_before =
            side(self.op) * 4 + usize::from(self.within_stream) * 2 + usize::from(self.again);
        4 * use_before + self.size as usize
    }

    fn of(number: usize) -> Sort {
        let size = [Size::Small, Size::Middle, Size::Large, Size::Huge][number % 4];
        let number = number / 4;
        let op = if number < 4 { Op::Read } else { Op::Write };
        Sort { op, within_stream: number & 2 != 0, again: number & 1 != 0, size }
    }
}

impl Kind {
    const COUNT: usize = 6 + 2 * Sort::COUNT;

    pub(super) fn continues(self) -> bool {
        matches!(self, Kind::Continue | Kind::Resume)
    }

    fn number(self) -> usize {
        match self {
            Kind::Continue => 0,
            Kind::Resume => 1,
            Kind::Precede => 2,
            Kind::Follow => 3,
            Kind::Near => 4,
            Kind::New => 5,
            Kind::Back(sort) => 6 + sort.number(),
            Kind::Inside(sort) => 6 + Sort::COUNT + sort.number(),
        }
    }

    fn of(number: usize) -> Kind {
        match number {
            0 => Kind::Continue,
            1 => Kind::Resume,
            2 => Kind::Precede,
            3 => Kind::Follow,
            4 => Kind::Near,
            5 => Kind::New,
            6..38 => Kind::Back(Sort::of(number - 6)),
            _ => Kind::Inside(Sort::of(number - 38)),
        }
    }
}

/// A kind and what is done there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Move {
    pub(super) kind: Kind,
    pub(super) op: Op,
}

/// How many moves there are.
pub(super) const MOVES: usize = 2 * Kind::COUNT;

impl Move {
    /// Its number, as descriptions have it.
    pub(super) fn number(self) -> usize {
        2 * self.kind.number() + side(self.op)
    }

    pub(super) fn of(number: usize) -> Move {
        Move { kind: Kind::of(number / 2), op: [Op::Read, Op::Write][number % 2] }
    }
}

/// 0 for reads, 1 for writes.
pub(super) fn side(op: Op) -> usize {
    usize::from(op == Op::Write)
}

/// What the next move depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    pub(super) last: Move,
    /// The last move that did not continue a stream.
    pub(super) jump: Kind,
    /// The last stream will go on.
    pub(super) open: bool,
    /// Other streams that will go on.
    pub(super) others: usize,
}

impl Situation {
    pub(super) const START: Situation = Situation {
        last: Move { kind: Kind::New, op: Op::Read },
        jump: Kind::New,
        open: false,
        others: 0,
    };

    /// How many are told apart.
    pub(super) const COUNT: usize = 2 * 2 * 3 * 2 * 4;

    pub(super) fn number(self) -> usize {
        let last = match self.last.kind {
            Kind::Continue => 0,
            Kind::Resume => 1,
            _ => 2,
        };
        let others = match self.others {
            0 => 0,
            1 => 1,
            2..=3 => 2,
            _ => 3,
        };
        let follows = usize::from(self.jump == Kind::Follow);
        (((others * 3 + last) * 2 + usize::from(self.open)) * 2 + follows) * 2 + side(self.last.op)
    }
}
