//! The rules of the transmission, without I/O: which requests are served, and how their replies
//! look.

use crate::answer::{Answer, Extent, Failure, Piece};
use crate::batch::Batch;
use crate::command::{Command, Context, Contexts};
use crate::handshake::{Agreement, ExportInfo};
use crate::replies::{Chunk, Descriptor, ErrorCode, simple};
use crate::requests::Request;
use crate::wire::{DESCRIPTORS_MAX, PAYLOAD_BYTES_MAX, command, command_flag};

/// The agreement of one connection, with its export.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Session {
    size_bytes: u64,
    read_only: bool,
    minimum_block: u32,
    structured: bool,
    contexts: Contexts,
}

impl Session {
    /// The session after a handshake.
    pub fn new(export: &ExportInfo, agreement: Agreement) -> Self {
        Self {
            size_bytes: export.size_bytes,
            read_only: export.read_only,
            minimum_block: export.minimum_block,
            structured: agreement.structured,
            contexts: agreement.contexts,
        }
    }

    /// Checks whether a request is served; if not, its payload has to be skipped. Not called for
    /// DISC.
    pub fn check(&self, request: &Request) -> Result<(), Failure> {
        let wrong = |message: &'static str| Err(Failure::new(ErrorCode::Inval, message));
        let writes = match request.kind {
            command::WRITE | command::TRIM | command::WRITE_ZEROES => true,
            command::READ | command::FLUSH | command::CACHE | command::BLOCK_STATUS => false,
            _ => return wrong("this server does not know the command"),
        };
        if request.flags & !request.flags_allowed() != 0 {
            return wrong("a flag that the command does not have");
        }
        // DF is a flag of READ only.
        if request.has(command_flag::DF) && !self.structured {
            return wrong("DF needs structured replies");
        }
        if writes && self.read_only {
            return Err(Failure::new(ErrorCode::Perm, "the export is read-only"));
        }
        if request.kind == command::FLUSH {
            return match (request.offset, request.length) {
                (0, 0) => Ok(()),
                _ => wrong("a flush has no range"),
            };
        }
        if request.kind == command::BLOCK_STATUS {
            if self.contexts == Contexts::NONE {
                return wrong("no metadata context was negotiated");
            }
            if request.length == 0 {
                return wrong("an empty range has no status");
            }
        }
        self.check_range(request)
    }

    fn check_range(&self, request: &Request) -> Result<(), Failure> {
        let long = request.length > PAYLOAD_BYTES_MAX;
        if long && request.has(command_flag::DF) {
            return Err(Failure::new(ErrorCode::Overflow, "too long for one piece"));
        }
        if long && matches!(request.kind, command::READ | command::WRITE) {
            return Err(Failure::new(ErrorCode::Inval, "longer than the maximum block size"));
        }
        let block = u64::from(self.minimum_block);
        let length = u64::from(request.length);
        if !request.offset.is_multiple_of(block) || !length.is_multiple_of(block) {
            let message = "not a multiple of the minimum block size";
            return Err(Failure::new(ErrorCode::Inval, message));
        }
        let end = request.offset.checked_add(request.length.into());
        if end.is_none_or(|end| end > self.size_bytes) {
            let code = match request.kind {
                command::WRITE | command::WRITE_ZEROES => ErrorCode::NoSpc,
                _ => ErrorCode::Inval,
            };
            return Err(Failure::new(code, "past the end of the export"));
        }
        Ok(())
    }

    /// The command of a checked request, with its payload. `None` if there is nothing to do.
    pub fn command(&self, request: &Request, payload: Vec<u8>) -> Option<Command> {
        let Request { offset, length, .. } = *request;
        let fua = request.has(command_flag::FUA);
        if request.kind == command::FLUSH {
            return Some(Command::Flush);
        }
        if length == 0 {
            return None;
        }
        Some(match request.kind {
            command::READ => Command::Read { offset, length },
            command::WRITE => Command::Write { offset, data: payload, fua },
            command::TRIM => Command::Trim { offset, length, fua },
            command::CACHE => Command::Cache { offset, length },
            command::WRITE_ZEROES => Command::WriteZeroes {
                offset,
                length,
                fua,
                no_hole: request.has(command_flag::NO_HOLE),
                fast: request.has(command_flag::FAST_ZERO),
            },
            command::BLOCK_STATUS => Command::BlockStatus {
                offset,
                length,
                contexts: self.contexts,
                one: request.has(command_flag::REQ_ONE),
            },
            kind => unreachable!("command {kind} was checked"),
        })
    }

    /// The bytes that a checked request may hold in memory until its reply has been sent.
    pub fn memory_bytes(&self, request: &Request) -> u64 {
        match request.kind {
            command::READ | command::WRITE => request.length.into(),
            // An extent and a descriptor for each, in both contexts.
            command::BLOCK_STATUS => 2 * 24 * DESCRIPTORS_MAX as u64,
            _ => 0,
        }
    }

    /// Appends the reply to `request`.
    pub fn reply(&self, request: &Request, result: Result<Answer, Failure>, batch: &mut Batch) {
        let result = result.and_then(|answer| self.matching(request, answer));
        let cookie = request.cookie;
        match result {
            Err(failure) if self.structured => {
                let (code, message) = (failure.code as u32, &*failure.message);
                // An offset outside of the request would violate the protocol.
                let within = |&at: &u64| at.wrapping_sub(request.offset) < request.length.into();
                let offset = failure.offset.filter(within);
                Chunk::Error { code, message, offset }.encode(cookie, true, batch.head());
            }
            Err(failure) => batch.head().extend(simple(cookie, failure.code as u32)),
            Ok(Answer::Done) if self.structured && request.kind == command::READ => {
                Chunk::None.encode(cookie, true, batch.head());
            }
            Ok(Answer::Done) => batch.head().extend(simple(cookie, 0)),
            Ok(Answer::Data(data)) if self.structured => {
                self.data(request, true, request.offset, data, batch);
            }
            Ok(Answer::Data(data)) => {
                batch.head().extend(simple(cookie, 0));
                batch.data(data);
            }
            Ok(Answer::Pieces(pieces)) if self.structured => self.pieces(request, pieces, batch),
            Ok(Answer::Pieces(pieces)) => {
                batch.head().extend(simple(cookie, 0));
                batch.data(joined(pieces, request.length));
            }
            Ok(Answer::Status { allocation, dirty }) => {
                let mut chunks = Vec::with_capacity(2);
                for (context, extents) in
                    [(Context::Allocation, allocation), (Context::Dirty, dirty)]
                {
                    if self.contexts.has(context) {
                        let descriptors = descriptors(request, &extents);
                        chunks.push(Chunk::Status { context: context.id(), descriptors });
                    }
                }
                let last = chunks.len() - 1;
                for (i, chunk) in chunks.iter().enumerate() {
                    chunk.encode(cookie, i == last, batch.head());
                }
            }
        }
    }

    /// An answer that does not fit the request is a bug of the export. For the client it must be no
    /// worse than a bad sector.
    fn matching(&self, request: &Request, answer: Answer) -> Result<Answer, Failure> {
        let right = self.fits(request, &answer);
        debug_assert!(right, "{request:?} was answered with something else");
        let mismatch = "the export's answer does not fit the request";
        if right { Ok(answer) } else { Err(Failure::new(ErrorCode::Io, mismatch)) }
    }

    /// Whether an answer fits the request.
    fn fits(&self, request: &Request, answer: &Answer) -> bool {
        let length = u64::from(request.length);
        match answer {
            Answer::Done => request.kind != command::BLOCK_STATUS && !is_read(request),
            Answer::Data(data) => is_read(request) && data.len() as u64 == length,
            Answer::Pieces(pieces) => {
                is_read(request) && pieces.iter().map(size).sum::<u64>() == length
            }
            Answer::Status { allocation, dirty } => {
                let told = |context, extents: &[Extent]| {
                    !self.contexts.has(context)
                        || (!extents.is_empty() && extents.iter().all(|e| e.length_bytes > 0))
                };
                request.kind == command::BLOCK_STATUS
                    && told(Context::Allocation, allocation)
                    && told(Context::Dirty, dirty)
            }
        }
    }

    fn data(&self, request: &Request, done: bool, offset: u64, data: Vec<u8>, batch: &mut Batch) {
        Chunk::encode_data_header(request.cookie, done, offset, data.len(), batch.head());
        batch.data(data);
    }

    fn pieces(&self, request: &Request, mut pieces: Vec<Piece>, batch: &mut Batch) {
        pieces.retain(|piece| size(piece) > 0);
        if pieces.len() > 1 && request.has(command_flag::DF) {
            let data = joined(pieces, request.length);
            return self.data(request, true, request.offset, data, batch);
        }
        let mut offset = request.offset;
        let last = pieces.len() - 1;
        for (i, piece) in pieces.into_iter().enumerate() {
            let bytes = size(&piece);
            match piece {
                Piece::Data(data) => self.data(request, i == last, offset, data, batch),
                Piece::Zeroes(length) => {
                    Chunk::Hole { offset, length }.encode(request.cookie, i == last, batch.head());
                }
            }
            offset += bytes;
        }
    }
}

fn is_read(request: &Request) -> bool {
    request.kind == command::READ && request.length > 0
}

fn size(piece: &Piece) -> u64 {
    match piece {
        Piece::Data(data) => data.len() as u64,
        Piece::Zeroes(bytes) => u64::from(*bytes),
    }
}

fn joined(pieces: Vec<Piece>, length: u32) -> Vec<u8> {
    let mut data = Vec::with_capacity(length as usize);
    for piece in pieces {
        match piece {
            Piece::Data(bytes) => data.extend_from_slice(&bytes),
            Piece::Zeroes(bytes) => data.resize(data.len() + bytes as usize, 0),
        }
    }
    data
}

/// Converts extents to descriptors: equal neighbours are joined, nothing reaches beyond the
/// request, and the number is limited by the request and by the protocol.
fn descriptors(request: &Request, extents: &[Extent]) -> Vec<Descriptor> {
    let limit = if request.has(command_flag::REQ_ONE) { 1 } else { DESCRIPTORS_MAX };
    let mut descriptors: Vec<Descriptor> = Vec::new();
    let mut left = request.length;
    for extent in extents {
        let length = u32::try_from(extent.length_bytes).unwrap_or(u32::MAX).min(left);
        if length == 0 {
            break;
        }
        let full = descriptors.len() == limit;
        match descriptors.last_mut() {
            Some(last) if last.flags == extent.flags => last.length += length,
            _ if full => break,
            _ => descriptors.push(Descriptor { length, flags: extent.flags }),
        }
        left -= length;
    }
    descriptors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Arrival;

    fn request(kind: u16, length: u32) -> Request {
        Request { flags: 0, kind, cookie: 1, offset: 0, length }
    }

    fn session(contexts: Contexts) -> Session {
        Session { size_bytes: 100, read_only: false, minimum_block: 1, structured: true, contexts }
    }

    /// The requests, of six bytes and of none, that an answer fits.
    fn fitted(contexts: Contexts, answer: &Answer) -> Vec<(u16, u32)> {
        let kinds = [
            command::READ,
            command::WRITE,
            command::FLUSH,
            command::TRIM,
            command::CACHE,
            command::WRITE_ZEROES,
            command::BLOCK_STATUS,
        ];
        let all = kinds.into_iter().flat_map(|kind| [(kind, 6), (kind, 0)]);
        let fits =
            |&(kind, length): &(u16, u32)| session(contexts).fits(&request(kind, length), answer);
        all.filter(fits).collect()
    }

    #[test]
    fn requests_are_charged_for_the_memory_that_they_may_hold() {
        let session = session(Contexts::NONE);
        let charged = |kind, length| session.memory_bytes(&request(kind, length));
        assert_eq!([charged(command::READ, 6), charged(command::WRITE, 7)], [6, 7]);
        assert!(charged(command::BLOCK_STATUS, 1) > 1 << 10, "many extents may be told");
        let others = [command::FLUSH, command::TRIM, command::CACHE, command::WRITE_ZEROES];
        assert_eq!(others.map(|kind| charged(kind, 6)), [0; 4]);
        // A refused request holds nothing.
        let arrived = |length| {
            let mut bytes = Vec::new();
            request(command::READ, length).encode(&mut bytes);
            match Arrival::of(&session, &bytes).expect("a request") {
                Arrival::Request(arrived) => {
                    (arrived.refused.is_some(), arrived.which.memory_bytes)
                }
                other => panic!("{other:?}"),
            }
        };
        assert_eq!([arrived(100), arrived(101)], [(false, 100), (true, 0)]);
    }

    #[test]
    fn data_and_pieces_are_for_reads_of_as_many_bytes() {
        let read = vec![(command::READ, 6)];
        let none = Contexts::NONE;
        assert_eq!(fitted(none, &Answer::Data(vec![1; 6])), read);
        let pieces = |last| Answer::Pieces(vec![Piece::Zeroes(2), Piece::Data(vec![1; last])]);
        assert_eq!(fitted(none, &pieces(4)), read);
        for wrong in [Answer::Data(vec![1; 5]), Answer::Data(vec![1; 7]), pieces(3), pieces(5)] {
            assert_eq!(fitted(none, &wrong), [], "{wrong:?}");
        }
        // A read of 0 bytes does not reach the export.
        assert_eq!(fitted(none, &Answer::Data(Vec::new())), []);
    }

    #[test]
    fn done_is_for_all_that_bring_nothing_back() {
        let brings = |&(kind, length): &(u16, u32)| {
            (kind, length) == (command::READ, 6) || kind == command::BLOCK_STATUS
        };
        let fits = fitted(Contexts::NONE, &Answer::Done);
        assert_eq!((fits.len(), fits.iter().any(brings)), (11, false), "{fits:?}");
    }

    #[test]
    fn a_status_has_extents_of_each_context_that_is_asked_for() {
        let extents = |lengths: &[u64]| {
            lengths.iter().map(|&length_bytes| Extent { length_bytes, flags: 0 }).collect()
        };
        let told = |contexts: (bool, bool), allocation: &[u64], dirty: &[u64]| {
            let contexts = Contexts { allocation: contexts.0, dirty: contexts.1 };
            let (allocation, dirty) = (extents(allocation), extents(dirty));
            let fits = fitted(contexts, &Answer::Status { allocation, dirty });
            let status = vec![(command::BLOCK_STATUS, 6), (command::BLOCK_STATUS, 0)];
            assert!(fits.is_empty() || fits == status, "{fits:?}");
            !fits.is_empty()
        };
        assert!(told((true, true), &[6], &[2, 4]));
        assert!(told((true, false), &[6], &[]) && told((false, true), &[], &[6]));
        assert!(!told((true, true), &[], &[6]) && !told((true, true), &[6], &[]));
        // An empty extent is not valid.
        assert!(!told((true, true), &[0], &[6]) && !told((true, true), &[6], &[6, 0]));
        assert!(told((true, false), &[6], &[0]));
    }
}
