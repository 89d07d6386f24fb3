//! A part of a trace: a range of its time, of the disk or of its requests, or a sample of its
//! zones.
//!
//! The order is: `mode` drops requests; then time, range and zones select; `skip` and `requests`
//! count what is left. A request across a border is cut to it, and may leave several pieces.
//! Addresses do not change. Time starts with the first request that is kept.

use std::collections::VecDeque;

use shingle_core::units::{Nanos, Op, Request};

use crate::error::{Kind, Place, TraceError};
use crate::sample::ZoneSample;
use crate::shape::Mode;
use crate::source::{BATCH_REQUESTS, Source, prepare_batch};
use crate::zones::ZONE_BYTES;

/// The part that is kept. The default keeps all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Part {
    /// Operations that are kept.
    pub mode: Mode,
    /// Keep requests that arrive at or after this time of the trace.
    pub from: Option<Nanos>,
    /// Keep requests that arrive before this time.
    pub to: Option<Nanos>,
    /// Keep bytes of the disk from this one on.
    pub begin_bytes: Option<u64>,
    /// Keep bytes before this one.
    pub end_bytes: Option<u64>,
    /// Keep these 5,000-block zones.
    pub zones: Option<ZoneSample>,
    /// Number of selected requests to skip.
    pub skip: u64,
    /// The most requests to keep after that.
    pub requests: Option<u64>,
}

/// A source that keeps a part of another source.
pub struct Cut {
    source: Box<dyn Source>,
    part: Part,
    batch: Vec<Request>,
    /// Index of the next request of the batch.
    at: usize,
    /// Pieces of one request that are not passed on yet.
    pieces: VecDeque<Request>,
    first: Option<Nanos>,
    selected: u64,
    cut: u64,
    last_seen: Nanos,
    ended: bool,
}

impl Cut {
    /// Creates a source of `part` of `source`, which is read no further than needed.
    #[must_use]
    pub fn new(source: Box<dyn Source>, part: Part) -> Cut {
        Cut {
            source,
            part,
            batch: Vec::with_capacity(BATCH_REQUESTS),
            at: 0,
            pieces: VecDeque::new(),
            first: None,
            selected: 0,
            cut: 0,
            last_seen: Nanos::ZERO,
            ended: false,
        }
    }

    /// Returns the number of requests that were cut to a border and kept in part.
    #[must_use]
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Returns the next request of the source if one may still be kept.
    fn next_request(&mut self) -> Result<Option<Request>, TraceError> {
        let enough = self
            .part
            .requests
            .is_some_and(|most| self.selected >= self.part.skip.saturating_add(most));
        if self.ended || enough {
            return Ok(None);
        }
        if self.at == self.batch.len() {
            self.at = 0;
            if !self.source.fill(&mut self.batch)? {
                return Ok(None);
            }
        }
        let request = self.batch[self.at];
        self.at += 1;
        self.last_seen = request.at;
        // Times never go back.
        if self.part.to.is_some_and(|to| request.at >= to) {
            return Ok(None);
        }
        Ok(Some(request))
    }

    /// Puts the kept pieces of `request` into `pieces`.
    fn select(&mut self, request: Request) {
        if !self.part.mode.keeps(request.op) || self.part.from.is_some_and(|from| request.at < from)
        {
            return;
        }
        let whole = self.split(request);
        if self.pieces.is_empty() {
            return;
        }
        self.selected += 1;
        if self.selected <= self.part.skip {
            self.pieces.clear();
            return;
        }
        self.cut += u64::from(!whole);
        let first = *self.first.get_or_insert(request.at);
        for piece in &mut self.pieces {
            piece.at = piece.at.since(first);
        }
    }

    /// Splits `request` into its kept pieces. Returns true if it is kept whole.
    fn split(&mut self, request: Request) -> bool {
        if request.op == Op::Flush {
            self.pieces.push_back(request);
            return true;
        }
        let begin = request.offset.max(self.part.begin_bytes.unwrap_or(0));
        let end = (request.offset + request.bytes).min(self.part.end_bytes.unwrap_or(u64::MAX));
        let mut at = begin;
        while at < end {
            let border = (at / ZONE_BYTES + 1) * ZONE_BYTES;
            let piece_end = border.min(end);
            let keeps = self.part.zones.is_none_or(|zones| zones.keeps(at / ZONE_BYTES));
            match self.pieces.back_mut() {
                _ if !keeps => {}
                Some(last) if last.offset + last.bytes == at => last.bytes += piece_end - at,
                _ => {
                    self.pieces.push_back(Request { offset: at, bytes: piece_end - at, ..request })
                }
            }
            at = piece_end;
        }
        self.pieces.front() == Some(&request)
    }

    fn empty_error(&self) -> TraceError {
        let message = format!(
            "the cut leaves no request of the {:.1} s that were read; take a longer time, a wider range, \
             more zones, or skip fewer",
            self.last_seen.as_secs_f64()
        );
        TraceError::new(Kind::Empty, "", Place::Whole, message)
    }
}

impl Source for Cut {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
        prepare_batch(out);
        while out.len() < out.capacity() {
            if let Some(piece) = self.pieces.pop_front() {
                out.push(piece);
                continue;
            }
            let Some(request) = self.next_request()? else {
                self.ended = true;
                break;
            };
            self.select(request);
        }
        if self.ended && self.first.is_none() {
            return Err(self.empty_error());
        }
        Ok(!out.is_empty())
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.source.progress()
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = self.source.warnings();
        if self.cut > 0 {
            warnings.push(format!(
                "{} requests lay across a border of what is kept and were cut to it",
                self.cut
            ));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::read_all;

    struct Held(Vec<Request>);

    impl Source for Held {
        fn fill(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
            prepare_batch(out);
            let count = self.0.len().min(out.capacity()).min(7);
            out.extend(self.0.drain(..count));
            Ok(!out.is_empty())
        }
    }

    fn request(at: u64, offset: u64, bytes: u64, op: Op) -> Request {
        Request { at: Nanos(at), offset, bytes, op }
    }

    fn part_of(requests: &[Request], part: Part) -> Result<(Vec<Request>, u64), TraceError> {
        let mut cut = Cut::new(Box::new(Held(requests.to_vec())), part);
        let kept = read_all(&mut cut, &mut |_| {})?;
        Ok((kept, cut.cut()))
    }

    fn five() -> [Request; 5] {
        [
            request(0, 0, 4096, Op::Read),
            request(10, 2048, 4096, Op::Write),
            request(20, 0, 0, Op::Flush),
            request(30, 8192, 512, Op::Write),
            request(40, 0, 16_384, Op::Write),
        ]
    }

    #[test]
    fn by_time_and_by_requests() {
        let five = five();
        let at = |requests: Vec<Request>| requests.iter().map(|r| r.at.0).collect::<Vec<_>>();
        let time = Part { from: Some(Nanos(10)), to: Some(Nanos(40)), ..Part::default() };
        let (kept, cut) = part_of(&five, time).expect("some are left");
        assert_eq!((at(kept), cut), (vec![0, 10, 20], 0));
        let counted = Part { mode: Mode::Write, skip: 1, requests: Some(2), ..Part::default() };
        let (kept, _) = part_of(&five, counted).expect("some are left");
        assert_eq!(kept, [request(0, 0, 0, Op::Flush), request(10, 8192, 512, Op::Write)]);
        let none = Part { from: Some(Nanos(41)), ..Part::default() };
        let error = part_of(&five, none).expect_err("nothing is left").to_string();
        assert!(error.contains("leaves no request"), "{error}");
        let (kept, _) = part_of(&five, Part::default()).expect("all is left");
        assert_eq!(kept, five);
    }

    #[test]
    fn by_range_requests_are_cut_to_it() {
        let range = Part { begin_bytes: Some(4096), end_bytes: Some(8192), ..Part::default() };
        let (kept, cut) = part_of(&five(), range).expect("some are left");
        let expected = [
            request(0, 4096, 2048, Op::Write),
            request(10, 0, 0, Op::Flush),
            request(30, 4096, 4096, Op::Write),
        ];
        assert_eq!((&kept[..], cut), (&expected[..], 2));
    }

    proptest! {
        /// The pieces hold every byte of the kept zones and no other, and do not touch each other.
        #[test]
        fn zones_are_kept_or_not(
            places in prop::collection::vec((0..40 * ZONE_BYTES, 1..6 * ZONE_BYTES), 1..40),
            every in 2_u64..5, seed in any::<u64>(),
        ) {
            let requests: Vec<Request> = places
                .iter()
                .enumerate()
                .map(|(at, &(offset, bytes))| request(at as u64, offset, bytes, Op::Write))
                .collect();
            let sample = ZoneSample::new(every, seed);
            let kept = match part_of(&requests, Part { zones: Some(sample), ..Part::default() }) {
                Ok((kept, cut)) => {
                    let whole = requests.iter().filter(|r| {
                        kept.iter().any(|k| (k.offset, k.bytes) == (r.offset, r.bytes))
                    });
                    let touched = requests.iter().filter(|r| bytes_of(r, sample) > 0).count();
                    prop_assert!(cut as usize + whole.count() >= touched);
                    kept
                }
                Err(error) => {
                    prop_assert!(error.to_string().contains("leaves no request"));
                    Vec::new()
                }
            };
            let bytes: u64 = requests.iter().map(|request| bytes_of(request, sample)).sum();
            prop_assert_eq!(kept.iter().map(|request| request.bytes).sum::<u64>(), bytes);
            for piece in &kept {
                let zones = piece.offset / ZONE_BYTES..=(piece.offset + piece.bytes - 1) / ZONE_BYTES;
                prop_assert!(zones.into_iter().all(|zone| sample.keeps(zone)));
            }
            for pair in kept.windows(2).filter(|pair| pair[0].at == pair[1].at) {
                prop_assert!(pair[0].offset + pair[0].bytes < pair[1].offset);
            }
        }
    }

    fn bytes_of(request: &Request, sample: ZoneSample) -> u64 {
        let end = request.offset + request.bytes;
        (0..50)
            .filter(|&zone| sample.keeps(zone))
            .map(|zone| {
                let (low, high) = (zone * ZONE_BYTES, (zone + 1) * ZONE_BYTES);
                end.min(high).saturating_sub(request.offset.max(low))
            })
            .sum()
    }
}
