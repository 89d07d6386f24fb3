//! fio's I/O log, version 3: `microseconds file action offset length`, all in one file `disk`.
//!
//! `fio --read_iolog=FILE --replay_redirect=/dev/sdX` replays it. Flushes are `sync`.

use shingle_core::units::{Op, Request};

use super::lost::Losses;
use super::text::Text;
use super::{Out, Sink, Writer};
use crate::error::TraceError;

pub(super) const WRITER: Writer = Writer { name: "iolog", extensions: &["iolog", "fio"], create };

const STEP_NS: u64 = 1_000;

fn create(out: Out) -> Result<Box<dyn Sink>, TraceError> {
    let mut text = Text::new(out);
    for line in ["fio version 3 iolog", "0 disk add", "0 disk open"] {
        text.text(line).end_line()?;
    }
    Ok(Box::new(Iolog { text, lost: Losses::default(), last: 0 }))
}

struct Iolog {
    text: Text,
    lost: Losses,
    /// Time of the last request, in steps.
    last: u64,
}

impl Sink for Iolog {
    fn put(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        for request in requests {
            let op = match request.op {
                Op::Read => " disk read ",
                Op::Write => " disk write ",
                Op::Trim => " disk trim ",
                Op::Flush => " disk sync ",
            };
            self.last = self.lost.steps(request, STEP_NS);
            let line = self.text.number(self.last).text(op).number(request.offset);
            line.text(" ").number(request.bytes).end_line()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<String>, TraceError> {
        self.text.number(self.last).text(" disk close").end_line()?;
        self.text.finish()?;
        Ok(self.lost.sentences(WRITER.name, "1 µs"))
    }
}
