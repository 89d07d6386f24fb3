//! Counts what a format cannot represent, while it is written.

use shingle_core::units::{Op, Request};

/// Numbers of requests that lost information.
#[derive(Default)]
pub(super) struct Losses {
    trims: u64,
    flushes: u64,
    times: u64,
    offsets: u64,
}

impl Losses {
    /// Returns whether `request` is a read or a write, and counts it if not.
    #[inline]
    pub(super) fn is_read_or_write(&mut self, request: &Request) -> bool {
        match request.op {
            Op::Read | Op::Write => return true,
            Op::Trim => self.trims += 1,
            Op::Flush => self.flushes += 1,
        }
        false
    }

    /// Returns the time of `request` in steps of `step_ns`, rounded down.
    #[inline]
    pub(super) fn steps(&mut self, request: &Request, step_ns: u64) -> u64 {
        self.times += u64::from(!request.at.0.is_multiple_of(step_ns));
        request.at.0 / step_ns
    }

    /// Returns the sector of 512 bytes in which `request` begins.
    #[inline]
    pub(super) fn sector(&mut self, request: &Request) -> u64 {
        self.offsets += u64::from(!request.offset.is_multiple_of(512));
        request.offset / 512
    }

    /// Returns sentences about the losses; `step` names the step of times.
    pub(super) fn sentences(&self, format: &str, step: &str) -> Vec<String> {
        let counted = [
            (self.trims, "trims were left out: the format has none".to_owned()),
            (self.flushes, "flushes were left out: the format has none".to_owned()),
            (self.times, format!("times were rounded down: the format has steps of {step}")),
            (self.offsets, "offsets were rounded down to a sector of 512 bytes".to_owned()),
        ];
        let lost = counted.into_iter().filter(|(count, _)| *count > 0);
        lost.map(|(count, what)| format!("{format}: {count} {what}")).collect()
    }
}
