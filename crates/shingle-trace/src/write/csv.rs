//! CSV with the header `time_ns,op,offset_bytes,size_bytes`, which represents traces without loss.
//!
//! Operations are `R`, `W`, `T` for a trim and `F` for a flush.

use shingle_core::units::{Op, Request};

use super::text::Text;
use super::{Out, Sink, Writer};
use crate::error::TraceError;

pub(super) const WRITER: Writer = Writer { name: "csv", extensions: &["csv"], create };

fn create(out: Out) -> Result<Box<dyn Sink>, TraceError> {
    let mut text = Text::new(out);
    text.text("time_ns,op,offset_bytes,size_bytes").end_line()?;
    Ok(Box::new(Csv { text }))
}

struct Csv {
    text: Text,
}

impl Sink for Csv {
    fn put(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        for request in requests {
            let op = match request.op {
                Op::Read => ",R,",
                Op::Write => ",W,",
                Op::Trim => ",T,",
                Op::Flush => ",F,",
            };
            let line = self.text.number(request.at.0).text(op).number(request.offset);
            line.text(",").number(request.bytes).end_line()?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>, TraceError> {
        self.text.finish()?;
        Ok(Vec::new())
    }
}
