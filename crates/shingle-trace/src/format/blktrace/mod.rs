//! blktrace, version 7: the Linux kernel's record of a block device, with a file for each CPU.
//!
//! The files of a trace are merged by time (`files.rs`); a single stream, as of `blktrace -o -`, is
//! read as it is. By default queued requests are read; `blktrace:D` reads those issued to the
//! driver, `blktrace:C` completed ones. Devices are volumes, named `major:minor`. A write with a
//! preceding flush becomes two requests. Messages, other actions and SCSI pass-through commands are
//! left out.

mod event;
mod files;

use event::{Action, DISCARD, Event, Events, FLUSH, FUA, WRITE};
pub(crate) use files::first_file;
use shingle_core::units::{Op, SECTOR_BYTES};

use super::{Decoded, Format, Match, Options};
use crate::arrange::{Records, fill_from};
use crate::error::{Kind, Place, Problem, TraceError, shown};
use crate::input::Input;
use crate::source::{Gate, Raw};
use crate::volume::Volumes;

pub(super) const FORMAT: Format = Format {
    name: "blktrace",
    about: "binary files of blktrace, version 7, of all CPUs; blktrace:D or :C for other events",
    sniff: |head| {
        Match::magic(head.len() >= event::RECORD_BYTES && event::is_big_endian(head).is_some())
    },
    weigh: None,
    open,
};

fn open(input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    let letter = options.map.unwrap_or("Q");
    let Some(action) = Action::parse(letter) else {
        let message = format!(
            "--format blktrace:{} names no event; Q (queued), D (issued) and C (completed) can be \
             read",
            shown(letter.as_bytes())
        );
        return Err(Problem::usage(message).at(input.name(), Place::Whole));
    };
    let name = input.name().to_owned();
    let mut given = Some(input);
    let mut cpus = Vec::new();
    for file in files::all(&name) {
        let input = match given.take_if(|_| file == name) {
            Some(input) => input,
            None => Input::open(&file)?,
        };
        cpus.push(Cpu { events: Events::new(input, action)?, next: None, ended: false });
    }
    Decoded::records(Blktrace {
        name,
        cpus,
        action,
        gate: Gate::new(options.reorder),
        volumes: Volumes::new(options.volume),
        device: None,
        after_flush: None,
        fua: 0,
        no_bytes: 0,
    })
}

/// A file, and its next event.
struct Cpu {
    events: Events,
    next: Option<Event>,
    ended: bool,
}

struct Blktrace {
    name: String,
    cpus: Vec<Cpu>,
    action: Action,
    gate: Gate,
    volumes: Volumes,
    /// The device seen last, and the number of its volume if that is selected.
    device: Option<(u32, Option<u32>)>,
    /// The write that belongs to the flush returned last.
    after_flush: Option<Raw>,
    fua: u64,
    no_bytes: u64,
}

impl Blktrace {
    /// Returns the earliest next event of all files, and the number of its file.
    fn earliest(&mut self) -> Result<Option<(usize, Event)>, TraceError> {
        let mut earliest: Option<(usize, Event)> = None;
        for (number, cpu) in self.cpus.iter_mut().enumerate() {
            if cpu.next.is_none() && !cpu.ended {
                cpu.next = cpu.events.next()?;
                cpu.ended = cpu.next.is_none();
            }
            if let Some(event) = cpu.next
                && earliest.is_none_or(|(_, other)| event.ns < other.ns)
            {
                earliest = Some((number, event));
            }
        }
        if let Some((number, _)) = earliest {
            self.cpus[number].next = None;
        }
        Ok(earliest)
    }

    /// Returns the next request, `None` at the end.
    fn next(&mut self) -> Result<Option<Raw>, TraceError> {
        if let Some(raw) = self.after_flush.take() {
            return Ok(Some(raw));
        }
        while let Some((cpu, event)) = self.earliest()? {
            match self.request(&event) {
                Ok(Some(raw)) => return Ok(Some(raw)),
                Ok(None) => {}
                Err(problem) => {
                    let file = self.cpus[cpu].events.input.name();
                    return Err(problem.at(file, Place::Byte(event.byte)));
                }
            }
        }
        Ok(None)
    }

    fn request(&mut self, event: &Event) -> Result<Option<Raw>, Problem> {
        let Some(volume) = self.volume(event.device)? else { return Ok(None) };
        let has = |category: u32| event.categories & category != 0;
        let flush = Raw { ns: event.ns, offset: 0, bytes: 0, op: Op::Flush, volume };
        if event.bytes == 0 {
            if has(FLUSH) {
                return self.gate.admit(flush).map(Some);
            }
            self.no_bytes += 1;
            return Ok(None);
        }
        let offset = event.sector.checked_mul(SECTOR_BYTES).ok_or_else(|| {
            Problem::range(format!("sector {} is past the largest disk", event.sector))
        })?;
        let op = match (has(DISCARD), has(WRITE)) {
            (true, _) => Op::Trim,
            (_, true) => Op::Write,
            _ => Op::Read,
        };
        self.fua += u64::from(op == Op::Write && has(FUA));
        let raw = Raw { offset, bytes: u64::from(event.bytes), op, ..flush };
        if !has(FLUSH) {
            return self.gate.admit(raw).map(Some);
        }
        let flush = self.gate.admit(flush)?;
        self.after_flush = Some(self.gate.admit(raw)?);
        Ok(Some(flush))
    }

    fn volume(&mut self, device: u32) -> Result<Option<u32>, Problem> {
        if let Some((last, number)) = self.device
            && last == device
        {
            return Ok(number);
        }
        let name = format!("{}:{}", device >> 20, device & 0xf_ffff);
        let number = self.volumes.select(name.as_bytes())?;
        self.device = Some((device, number));
        Ok(number)
    }
}

impl Records for Blktrace {
    fn fill(&mut self, out: &mut Vec<Raw>) -> Result<bool, TraceError> {
        fill_from(out, || self.next())
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.cpus.iter().map(|cpu| cpu.events.input.progress()).try_fold((0, 0), |sum, part| {
            let (done, total) = part?;
            Some((sum.0 + done, sum.1 + total))
        })
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.cpus.len() > 1 {
            warnings.push(format!("the files of {} CPUs are merged by time", self.cpus.len()));
        }
        if self.fua > 0 {
            warnings.push(format!(
                "{} writes were to be durable by themselves (FUA); they are plain writes here",
                self.fua
            ));
        }
        if self.no_bytes > 0 {
            warnings.push(format!("{} events without bytes were left out", self.no_bytes));
        }
        warnings
    }

    fn volumes(&self) -> Option<&Volumes> {
        Some(&self.volumes)
    }

    fn empty_error(&self) -> Problem {
        let records: u64 = self.cpus.iter().map(|cpu| cpu.events.records).sum();
        Problem::new(
            Kind::Empty,
            format!(
                "holds no request: none of {records} events is {}; other events are read with \
                 --format blktrace:Q, :D or :C",
                self.action.letter()
            ),
        )
    }
}
