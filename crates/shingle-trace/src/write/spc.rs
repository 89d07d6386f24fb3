//! SPC-1 text: `ASU,LBA,bytes,opcode,seconds`, addresses in sectors of 512 bytes.
//!
//! Trims and flushes are left out, as the format has none. Times have six digits after the point,
//! or nine if they need them.

use shingle_core::units::{NS_PER_S, Op, Request};

use super::lost::Losses;
use super::text::Text;
use super::{Out, Sink, Writer};
use crate::error::TraceError;

pub(super) const WRITER: Writer = Writer { name: "spc", extensions: &["spc"], create };

fn create(out: Out) -> Result<Box<dyn Sink>, TraceError> {
    Ok(Box::new(Spc { text: Text::new(out), lost: Losses::default() }))
}

struct Spc {
    text: Text,
    lost: Losses,
}

impl Sink for Spc {
    fn put(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        for request in requests {
            if !self.lost.is_read_or_write(request) {
                continue;
            }
            let sector = self.lost.sector(request);
            let op = if request.op == Op::Write { ",w," } else { ",r," };
            let (seconds, ns) = (request.at.0 / NS_PER_S, request.at.0 % NS_PER_S);
            let line = self.text.text("0,").number(sector).text(",").number(request.bytes);
            let line = line.text(op).number(seconds).text(".");
            let line =
                if ns % 1_000 == 0 { line.digits(ns / 1_000, 6) } else { line.digits(ns, 9) };
            line.end_line()?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>, TraceError> {
        self.text.finish()?;
        Ok(self.lost.sentences(WRITER.name, "1 ns"))
    }
}
