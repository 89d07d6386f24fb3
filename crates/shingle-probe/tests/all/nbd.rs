//! NBD exports under probe: every request is executed once, at any depth, and errors name the
//! request that failed.

use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use shingle_nbd::export::{Command, Completion, Export, Failure};
use shingle_nbd::handshake::{ExportInfo, Handshake, Step};
use shingle_nbd::listen::Address;
use shingle_nbd::memory::Memory;
use shingle_nbd::replies::ErrorCode;
use shingle_nbd::server::{Limits, Served, Server};
use shingle_nbd::url::Url;
use shingle_probe::guard::Refusal;
use shingle_probe::nbd::Nbd;
use shingle_probe::target::{Io, Op, Target, TargetError};
use tempfile::TempDir;

use crate::common::{io, run};

const BYTES: usize = 256 << 20;

/// Memory that fails on demand, and may be read-only.
struct Failing {
    memory: Memory,
    /// Requests left until all fail.
    good: AtomicUsize,
    read_only: bool,
}

impl Failing {
    fn new() -> Failing {
        let good = AtomicUsize::new(usize::MAX);
        Failing { memory: Memory::new(BYTES), good, read_only: false }
    }
}

impl Export for Failing {
    fn size_bytes(&self) -> u64 {
        BYTES as u64
    }

    fn read_only(&self) -> bool {
        self.read_only
    }

    fn submit(&self, command: Command, done: Completion) {
        let left = |good: usize| good.checked_sub(1);
        if self.good.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left).is_err() {
            return done.done(Err(Failure::new(ErrorCode::Io, "the arm is broken")));
        }
        self.memory.submit(command, done);
    }
}

struct Bed {
    _folder: TempDir,
    socket: PathBuf,
    server: Server,
    export: Arc<Failing>,
}

impl Bed {
    fn new(export: Failing) -> Bed {
        let folder = shingle_testbed::folder();
        let socket = folder.path().join("nbd sock");
        let export = Arc::new(export);
        let served = Served {
            name: "disk".to_owned(),
            description: String::new(),
            minimum_block: 4096,
            export: Arc::clone(&export) as _,
        };
        let address = Address::Unix(socket.clone());
        let server = Server::start(&[address], vec![served], Limits::default(), |_| {});
        Bed { _folder: folder, socket, server: server.expect("listening"), export }
    }

    fn url(&self) -> Url {
        Url::of(&Address::Unix(self.socket.clone()), "disk")
    }

    fn open(&self, destroy: Option<&str>) -> Result<Nbd, Refusal> {
        Nbd::open(&self.url(), destroy, 1, Arc::default())
    }
}

#[test]
fn what_is_written_is_there() {
    let bed = Bed::new(Failing::new());
    let mut nbd = bed.open(None).expect("nothing to lose");
    let facts = nbd.facts();
    assert_eq!((facts.serial.as_str(), facts.blocks), ("disk", 65536));
    assert_eq!(facts.name, bed.url().to_string());
    for (round, depth) in [1, 2, 40].into_iter().enumerate() {
        let first = 1000 * round as u64;
        let mut ios: Vec<Io> = (0..50).map(|n| io(Op::Write, first + 10 * n, 1 + n % 9)).collect();
        ios.extend([io(Op::Flush, 0, 0), io(Op::Trim, 60_000, 8), io(Op::Read, first, 300)]);
        let seen = run(&mut nbd, depth, &ios).expect("done");
        let mut numbers: Vec<u64> = seen.iter().map(|done| done.number).collect();
        assert!(seen.iter().all(|done| done.begun <= done.done));
        assert!(seen.is_sorted_by_key(|done| done.done), "in the order of completion");
        numbers.sort_unstable();
        assert_eq!(numbers, (0..ios.len() as u64).collect::<Vec<_>>());
        let content = bed.export.memory.contents();
        for at in 0..500 {
            let block = (first + at) as usize;
            let written = at % 10 < 1 + at / 10 % 9;
            let bytes = &content[block * 4096..][..4096];
            assert_eq!(bytes.iter().any(|&byte| byte != 0), written, "block {block}");
        }
    }
    drop(nbd);
    bed.open(None).expect("what a probe wrote may be overwritten");
}

/// A client that wrote and read on one thread could deadlock with a server that does the same.
#[test]
fn long_reads_and_writes_side_by_side_do_not_wait_for_one_another() {
    let bed = Bed::new(Failing::new());
    let mut nbd = bed.open(None).expect("nothing to lose");
    let ops = [Op::Read, Op::Read, Op::Read, Op::Write].into_iter().cycle();
    let ios: Vec<Io> =
        ops.take(240).zip(0..).map(|(op, n)| io(op, n * 256 % 60_000, 1024)).collect();
    let seen = run(&mut nbd, 64, &ios).expect("done");
    assert_eq!(seen.len(), ios.len());
    let error = run(&mut nbd, 1, &[io(Op::Read, 0, 8193)]).expect_err("too long").to_string();
    assert!(
        error.ends_with("read of 8193 blocks at block 0 failed: longer than NBD allows"),
        "{error}"
    );
}

#[test]
fn a_run_ends_when_it_is_broken_or_interrupted() {
    let bed = Bed::new(Failing::new());
    let interrupted = Arc::new(AtomicBool::new(false));
    let mut nbd = Nbd::open(&bed.url(), None, 1, Arc::clone(&interrupted)).expect("open");
    for depth in [1, 4] {
        let (mut asked, mut seen) = (0, 0);
        let mut next = || {
            asked += 1;
            Some(io(Op::Write, asked, 1))
        };
        let ended = nbd.run(depth, &mut next, &mut |_| {
            seen += 1;
            if seen < 10 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        ended.expect("no failure");
        assert_eq!((asked, seen), (9 + depth as u64, 9 + depth as u64));
        let mut asked = 0;
        let mut next = || {
            asked += 1;
            interrupted.store(asked == 10, Ordering::Relaxed);
            Some(io(Op::Read, asked, 1))
        };
        let ended = nbd.run(depth, &mut next, &mut |_| ControlFlow::Continue(()));
        assert!(matches!(ended, Err(TargetError::Interrupted)), "{ended:?}");
        interrupted.store(false, Ordering::Relaxed);
    }
}

#[test]
fn a_failure_is_named_with_place_and_reason() {
    for depth in [1, 8] {
        let bed = Bed::new(Failing::new());
        let mut nbd = bed.open(None).expect("nothing to lose");
        bed.export.good.store(20, Ordering::SeqCst);
        let ios: Vec<Io> = (0..100).map(|n| io(Op::Write, n, 1)).collect();
        let error = run(&mut nbd, depth, &ios).expect_err("it fails").to_string();
        let (url, place) = (bed.url(), "write of 1 blocks at block 20 failed");
        assert_eq!(error, format!("{url}: {place}: the arm is broken (error 5 of NBD)"));
        // A failed request does not break the connection.
        bed.export.good.store(usize::MAX, Ordering::SeqCst);
        assert_eq!(run(&mut nbd, depth, &ios).expect("it works again").len(), 100);
        // But if the server ends, the run ends too.
        bed.server.stop(Duration::ZERO);
        let error = run(&mut nbd, depth, &ios).expect_err("nobody is there").to_string();
        assert!(
            error.starts_with(&format!("{url}: write of 1 blocks at block 0 failed")),
            "{error}"
        );
    }
}

#[test]
fn what_may_not_be_destroyed_is_refused() {
    let mut bed = Bed::new(Failing::new());
    let refused = |bed: &Bed, destroy: Option<&str>| {
        let before = bed.export.memory.contents();
        let refusal = bed.open(destroy).expect_err("refused");
        assert!(bed.export.memory.contents() == before, "something was written");
        assert!(refusal.to_string().starts_with(&bed.url().to_string()), "{refusal}");
        refusal
    };
    let write = |offset, data: &[u8]| Command::Write { offset, data: data.to_vec(), fua: false };
    bed.export.memory.execute(write(0x438, &[0x53, 0xef])).expect("written");
    let refusal = refused(&bed, None);
    assert!(matches!(refusal, Refusal::Occupied { .. }), "{refusal:?}");
    let refusal = refused(&bed, Some("other"));
    assert!(matches!(refusal, Refusal::Another { .. }), "{refusal:?}");
    bed.open(Some("disk")).expect("that is its name");

    bed = Bed::new(Failing { read_only: true, ..Failing::new() });
    let refusal = refused(&bed, Some("disk"));
    assert!(matches!(refusal, Refusal::ReadOnly(_)), "{refusal:?}");

    bed.server.stop(Duration::ZERO);
    let url = Url::of(&Address::Unix(bed.socket), "disk");
    let gone = Nbd::open(&url, None, 1, Arc::default()).expect_err("nobody is there");
    assert!(matches!(gone, Refusal::Open { .. }), "{gone:?}");
}

/// Serves a correct handshake, then sends garbage and reads nothing more.
fn talks_nonsense(socket: &Path) -> std::io::Result<UnixStream> {
    let (mut client, _) = UnixListener::bind(socket)?.accept()?;
    let infos = [ExportInfo {
        name: "disk".to_owned(),
        description: String::new(),
        size_bytes: BYTES as u64,
        read_only: false,
        minimum_block: 1,
    }];
    let (mut heard, mut out) = (Vec::new(), Vec::new());
    let mut handshake = Handshake::new(&infos, &mut out);
    loop {
        let (taken, step) = handshake.step(&heard, &mut out).map_err(std::io::Error::other)?;
        heard.drain(..taken);
        client.write_all(&out)?;
        out.clear();
        match step {
            Step::Serve(_) => break,
            Step::More => {
                let mut bytes = [0; 512];
                let read = client.read(&mut bytes)?;
                heard.extend_from_slice(&bytes[..read]);
            }
            _ => {}
        }
    }
    client.write_all(b"nonsense")?;
    Ok(client)
}

#[test]
fn a_server_that_answers_nonsense_and_takes_nothing_is_not_waited_for() {
    let folder = shingle_testbed::folder();
    let socket = folder.path().join("sock");
    let url = Url::of(&Address::Unix(socket.clone()), "disk");
    let server = std::thread::spawn(move || talks_nonsense(&socket).expect("connected"));
    let open = || Nbd::open(&url, Some("disk"), 1, Arc::default());
    let mut nbd = loop {
        match open() {
            Ok(nbd) => break nbd,
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let held = server.join().expect("no panic");
    let (to, ended) = channel();
    std::thread::spawn(move || {
        let ios: Vec<Io> = (0..64).map(|n| io(Op::Write, n * 256, 256)).collect();
        let _ = to.send(run(&mut nbd, 64, &ios).map(drop).map_err(|error| error.to_string()));
    });
    let ended = ended.recv_timeout(Duration::from_secs(20)).expect("it comes to an end");
    assert!(ended.expect_err("nonsense").contains("a reply begins with"));
    drop(held);
}
