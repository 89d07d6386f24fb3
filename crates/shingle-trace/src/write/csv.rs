//! CSV with the header `time_ns,op,offset_bytes,size_bytes`, which carries all there is.
//!
//! Operations are `R`, `W`, `T` for a trim and `F` for a flush.

use std::io::Write;

use shingle_core::units::{Op, Request};

use super::{Out, Sink, Writer};
use crate::error::TraceError;

pub(super) const WRITER: Writer = Writer {
    name: "csv",
    about: "text: time_ns,op,offset_bytes,size_bytes",
    extensions: &["csv"],
    create,
};

fn create(mut out: Out) -> Result<Box<dyn Sink>, TraceError> {
    out.put(b"time_ns,op,offset_bytes,size_bytes\n")?;
    Ok(Box::new(Csv { out, line: Vec::new() }))
}

struct Csv {
    out: Out,
    /// Scratch.
    line: Vec<u8>,
}

impl Sink for Csv {
    fn put(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        for request in requests {
            let op = match request.op {
                Op::Read => 'R',
                Op::Write => 'W',
                Op::Trim => 'T',
                Op::Flush => 'F',
            };
            self.line.clear();
            let Request { at, offset, bytes, .. } = request;
            writeln!(self.line, "{},{op},{offset},{bytes}", at.0).expect("memory");
            self.out.put(&self.line)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>, TraceError> {
        self.out.finish()?;
        Ok(Vec::new())
    }
}
