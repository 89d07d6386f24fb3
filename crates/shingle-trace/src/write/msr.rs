//! MSR Cambridge: `FILETIME,host,disk,Type,offset,size,response`, times in steps of 100 ns.
//!
//! Trims and flushes are left out, as the format has none; response times are 0.

use shingle_core::units::{Op, Request};

use super::lost::Losses;
use super::text::Text;
use super::{Out, Sink, Writer};
use crate::error::TraceError;

pub(super) const WRITER: Writer = Writer { name: "msr", extensions: &["msr"], create };

/// The start of a trace without a date: 2007-02-22, as of the traces of MSR Cambridge.
const BEGIN_FILETIME: u64 = 128_166_372_000_000_000;

const STEP_NS: u64 = 100;

fn create(out: Out) -> Result<Box<dyn Sink>, TraceError> {
    Ok(Box::new(Msr { text: Text::new(out), lost: Losses::default() }))
}

struct Msr {
    text: Text,
    lost: Losses,
}

impl Sink for Msr {
    fn put(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        for request in requests {
            if !self.lost.is_read_or_write(request) {
                continue;
            }
            let time = BEGIN_FILETIME + self.lost.steps(request, STEP_NS);
            let op = if request.op == Op::Write { "Write," } else { "Read," };
            let line = self.text.number(time).text(",shingle,0,").text(op);
            line.number(request.offset).text(",").number(request.bytes).text(",0").end_line()?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>, TraceError> {
        self.text.finish()?;
        Ok(self.lost.sentences(WRITER.name, "100 ns"))
    }
}
