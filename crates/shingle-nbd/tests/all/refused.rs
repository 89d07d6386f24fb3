//! Which requests are refused, and with which error: the numbers of commands, flags and errors in
//! the specification ("Request types", "Command flags", "Error values").

use shingle_nbd::export::Contexts;
use shingle_nbd::handshake::{Agreement, ExportInfo};
use shingle_nbd::replies::ErrorCode::{self, Inval, NoSpc, Overflow, Perm};
use shingle_nbd::requests::Request;
use shingle_nbd::session::Session;

const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const CACHE: u16 = 5;
const WRITE_ZEROES: u16 = 6;
const BLOCK_STATUS: u16 = 7;
/// Commands with a range.
const RANGED: [u16; 6] = [READ, WRITE, TRIM, CACHE, WRITE_ZEROES, BLOCK_STATUS];
const DF: u16 = 1 << 2;

const SIZE_BYTES: u64 = 1 << 30;
const BLOCK: u32 = 4096;
const LONGEST: u32 = 32 << 20;

/// A writable export for clients that have negotiated everything.
fn all() -> (ExportInfo, Agreement) {
    let name = String::new();
    let info = ExportInfo {
        description: name.clone(),
        name,
        size_bytes: SIZE_BYTES,
        read_only: false,
        minimum_block: BLOCK,
    };
    let contexts = Contexts { allocation: true, dirty: true };
    (info, Agreement { export: 0, structured: true, contexts })
}

fn refused(session: &Session, kind: u16, flags: u16, range: (u64, u32)) -> Option<ErrorCode> {
    let request = Request { flags, kind, cookie: 7, offset: range.0, length: range.1 };
    session.check(&request).err().map(|failure| failure.code)
}

/// For a client that has negotiated everything.
fn by_all(kind: u16, flags: u16, range: (u64, u32)) -> Option<ErrorCode> {
    let (info, agreement) = all();
    refused(&Session::new(&info, agreement), kind, flags, range)
}

#[test]
fn commands_have_flags_of_their_own() {
    // FUA: bit 0, allowed with any command; NO_HOLE: 1; DF: 2; REQ_ONE: 3; FAST_ZERO: 4.
    let known = [
        (READ, 0b00101),
        (WRITE, 0b00001),
        (FLUSH, 0b00001),
        (TRIM, 0b00001),
        (CACHE, 0b00001),
        (WRITE_ZEROES, 0b10011),
        (BLOCK_STATUS, 0b01001),
    ];
    for (kind, flags) in known {
        let range = if kind == FLUSH { (0, 0) } else { (0, BLOCK) };
        assert_eq!(by_all(kind, 0, range), None, "{kind}");
        for flag in (0..16).map(|bit| 1 << bit) {
            let expected = if flags & flag == 0 { Some(Inval) } else { None };
            assert_eq!(by_all(kind, flag, range), expected, "{kind} with {flag:#x}");
        }
    }
    // RESIZE, and undefined commands.
    for kind in [8, 9, u16::MAX] {
        assert_eq!(by_all(kind, 0, (0, BLOCK)), Some(Inval), "{kind}");
    }
}

#[test]
fn df_is_for_structured_replies() {
    let (info, mut agreement) = all();
    agreement.structured = false;
    let simple = Session::new(&info, agreement);
    assert_eq!(refused(&simple, READ, DF, (0, BLOCK)), Some(Inval));
    assert_eq!(refused(&simple, READ, 0, (0, BLOCK)), None);
}

#[test]
fn nothing_changes_a_read_only_export() {
    let (mut info, agreement) = all();
    info.read_only = true;
    let session = Session::new(&info, agreement);
    for kind in RANGED {
        let expected = matches!(kind, WRITE | TRIM | WRITE_ZEROES).then_some(Perm);
        assert_eq!(refused(&session, kind, 0, (0, BLOCK)), expected, "{kind}");
    }
    assert_eq!(refused(&session, FLUSH, 0, (0, 0)), None);
    // This error has precedence.
    assert_eq!(refused(&session, WRITE, 0, (SIZE_BYTES + 1, BLOCK)), Some(Perm));
}

#[test]
fn a_flush_is_of_everything() {
    for (range, expected) in
        [((0, 0), None), ((0, BLOCK), Some(Inval)), ((u64::from(BLOCK), 0), Some(Inval))]
    {
        assert_eq!(by_all(FLUSH, 0, range), expected, "{range:?}");
    }
}

#[test]
fn a_status_is_of_contexts_and_of_a_range() {
    let (info, mut agreement) = all();
    agreement.contexts = Contexts::NONE;
    let without = Session::new(&info, agreement);
    assert_eq!(refused(&without, BLOCK_STATUS, 0, (0, BLOCK)), Some(Inval));
    for kind in RANGED {
        // For all other commands an empty range is a success.
        let expected = (kind == BLOCK_STATUS).then_some(Inval);
        assert_eq!(by_all(kind, 0, (0, 0)), expected, "{kind}");
    }
}

#[test]
fn payloads_have_a_longest() {
    for kind in RANGED {
        assert_eq!(by_all(kind, 0, (0, LONGEST)), None, "{kind}");
        let expected = matches!(kind, READ | WRITE).then_some(Inval);
        assert_eq!(by_all(kind, 0, (0, LONGEST + BLOCK)), expected, "{kind}");
    }
    assert_eq!(by_all(READ, DF, (0, LONGEST)), None);
    assert_eq!(by_all(READ, DF, (0, LONGEST + BLOCK)), Some(Overflow));
}

#[test]
fn ranges_are_of_whole_blocks() {
    for kind in RANGED {
        for (range, expected) in [
            ((u64::from(BLOCK), BLOCK), None),
            ((1, BLOCK), Some(Inval)),
            ((u64::from(BLOCK), 1), Some(Inval)),
            ((1, BLOCK - 1), Some(Inval)),
            // This error has precedence over that of the end.
            ((SIZE_BYTES, BLOCK + 1), Some(Inval)),
        ] {
            assert_eq!(by_all(kind, 0, range), expected, "{kind} of {range:?}");
        }
    }
}

#[test]
fn ranges_end_with_the_export() {
    let block = u64::from(BLOCK);
    for kind in RANGED {
        assert_eq!(by_all(kind, 0, (SIZE_BYTES - block, BLOCK)), None, "{kind}");
        let expected = if matches!(kind, WRITE | WRITE_ZEROES) { NoSpc } else { Inval };
        for range in
            [(SIZE_BYTES, BLOCK), (SIZE_BYTES - block, 2 * BLOCK), (u64::MAX - block + 1, BLOCK)]
        {
            assert_eq!(by_all(kind, 0, range), Some(expected), "{kind} of {range:?}");
        }
    }
}
