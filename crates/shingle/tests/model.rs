//! `shingle model serve` as its clients meet it: a process that says where it is, a disk
//! as slow as its model, and an end in order.

use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Instant;

use shingle_nbd::client::{Client, ClientOptions};
use shingle_nbd::wire::{command, command_flag};
use shingle_probe::guard::Refusal;
use shingle_probe::nbd::Nbd;
use shingle_probe::target::{Block, Io, Nanos, Op, Target};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// A process that serves, at `nbd.sock` of its folder.
struct Model {
    folder: TempDir,
    child: Child,
    url: String,
}

fn shingle(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shingle"));
    command.args(line.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Model {
    /// Serves, and waits until clients may come.
    fn serve(line: &str) -> Model {
        let folder = tempfile::tempdir().expect("a folder");
        let line = format!("model serve --nbd unix:nbd.sock {line}");
        let mut child = shingle(&line).current_dir(folder.path()).spawn().expect("started");
        let mut url = String::new();
        let stdout = child.stdout.as_mut().expect("a pipe");
        BufReader::new(stdout).read_line(&mut url).expect("a line");
        let mut model = Model { folder, child, url: url.trim().to_owned() };
        if model.url.is_empty() {
            panic!("{line}: {}", model.said());
        }
        model
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("nbd.sock")
    }

    fn client(&self) -> Client<UnixStream> {
        let stream = UnixStream::connect(self.socket()).expect("connected");
        let options =
            ClientOptions { export: "", structured: true, contexts: &["base:allocation"] };
        Client::connect(stream, &options).expect("a handshake")
    }

    /// As a probe sees it.
    fn probed(&self) -> Result<Nbd, Refusal> {
        let url = self.url.replace("nbd.sock", self.socket().to_str().expect("UTF-8"));
        Nbd::open(&url.parse().expect("a URL"), None, 1, Arc::default())
    }

    /// What it says until it ends.
    fn said(&mut self) -> String {
        let mut said = String::new();
        let stderr = self.child.stderr.as_mut().expect("a pipe");
        stderr.read_to_string(&mut said).expect("text");
        said
    }

    /// Ends it with a signal, and returns what it said.
    fn end(mut self, signal: &str) -> String {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.expect("sent").success());
        let said = self.said();
        assert!(self.child.wait().expect("ended").success(), "{said}");
        assert!(!self.socket().exists(), "the socket is left behind");
        said
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // Gone already if the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_read_returns_the_last_write() {
    let model = Model::serve("--model cmr7200 --size 64MiB --speed 100000");
    assert_eq!(model.url, "nbd+unix:///cmr7200?socket=nbd.sock");
    let mut client = model.client();
    assert_eq!(client.size_bytes(), 64 * MIB);
    let data: Vec<u8> = (0..40960_u32).map(|n| (n % 251) as u8).collect();
    client.write(MIB, &data, 0).expect("whole").expect("written");
    client.write(MIB + 8192, &[7; 4096], command_flag::FUA).expect("whole").expect("written");
    client.flush().expect("whole").expect("flushed");
    let mut expected = data.clone();
    expected[8192..12288].fill(7);
    let around = client.read(MIB - 4096, 49152).expect("whole").expect("read");
    assert!(around == [&[0; 4096][..], &expected, &[0; 4096]].concat());
    // What another connection reads is the same.
    let mut other = model.client();
    assert!(other.read(MIB, 40960).expect("whole").expect("read") == expected);
    for (kind, flags) in [
        (command::TRIM, 0),
        (command::WRITE_ZEROES, command_flag::NO_HOLE),
        (command::WRITE_ZEROES, command_flag::FUA),
        (command::CACHE, 0),
        (command::BLOCK_STATUS, 0),
    ] {
        client.write(MIB, &data, 0).expect("whole").expect("written");
        other.call(kind, flags, MIB, 8192, &[]).expect("whole").expect("done");
        let gone = !matches!(kind, command::CACHE | command::BLOCK_STATUS);
        let head = if gone { &[0; 8192][..] } else { &data[..8192] };
        let read = client.read(MIB, 40960).expect("whole").expect("read");
        assert!(read == [head, &data[8192..]].concat(), "request {kind}");
    }
    // Blocks are what a drive has; the size is what it is.
    client.write(100, &[1; 512], 0).expect("whole").expect_err("part of a block");
    client.write(64 * MIB, &[1; 4096], 0).expect("whole").expect_err("past the end");
    client.disconnect().expect("in order");
    other.disconnect().expect("in order");
    model.end("TERM");
}

/// A probe fills the buffer of a small shingled drive with random writes until one of them waits for
/// cleaning: the model's knee, through NBD.
#[test]
fn a_probe_meets_the_cliff_of_a_served_model() {
    const SPEED: u64 = 200;
    let model = Model::serve(&format!(
        "--model sac-emulator --speed {SPEED} --set drive.pb=1MiB --drive-timing cost"
    ));
    let mut disk = model.probed().expect("nothing to lose");
    assert_eq!(disk.facts().serial, "sac-emulator");
    let blocks = disk.facts().blocks;
    let (begun, mut number) = (Instant::now(), 0);
    let mut next = || {
        number += 1;
        let block = number * 7_919_977 % blocks;
        (number <= 400).then_some(Io { op: Op::Write, block: Block(block), count: 1 })
    };
    let mut times = Vec::new();
    disk.run(1, &mut next, &mut |done| {
        times.push(done.latency());
        ControlFlow::Continue(())
    })
    .expect("all written");
    assert_eq!(times.len(), 400);
    // The buffer takes 256 blocks. A rewritten band costs more than any write to the log, and no
    // answer comes early; how late one may come is the machine's own affair.
    let rewrite = Nanos::from_millis(100 / SPEED);
    let slow = times.iter().skip(256).filter(|&&time| time > rewrite).count();
    assert!(slow > 100, "{slow} of {} writes waited for cleaning: {times:?}", times.len() - 256);
    drop(disk);
    let said = model.end("INT");
    assert!(said.contains("1.6 MiB written") && said.contains(" bands cleaned"), "{said}");
    let bands: u64 = said
        .split("; ")
        .find_map(|part| part.split_once(" bands")?.0.parse().ok())
        .expect("a number of bands");
    // Each band took about a second of the drive's time, or more.
    assert!(bands > 100, "{said}");
    assert!(begun.elapsed().as_millis() as u64 >= bands * 100 / SPEED, "{said}");
}

#[test]
fn wrong_options_are_told_in_one_line() {
    let refused = |line: &str, told: &str| {
        let output: Output = shingle(&format!("model serve {line}")).output().expect("started");
        let err = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{line}: {err}");
        assert!(err.contains(told) && output.stdout.is_empty(), "{line}: {err}");
    };
    let nbd = "--nbd unix:/nowhere/x";
    refused(
        &format!("{nbd} --model st8000a"),
        "there is no drive `st8000a`; there are st8000as0002, ",
    );
    refused(&format!("{nbd} --model cmr7200 --size 9T"), "--size 9 TiB: cmr7200 has ");
    refused(&format!("{nbd} --model cmr7200 --size 100"), "--size 100");
    refused(&format!("{nbd} --model cmr7200 --set policy.x=1"), "drive.NAME only");
    refused(&format!("{nbd} --model cmr7200 --set drive.rpm=0"), "from ");
    refused(&format!("{nbd} --model sac-emulator --set drive.extents=0"), "number of map entries");
    refused("--nbd tcp:8.8.8.8:1 --model cmr7200", "loopback");
    refused(&format!("{nbd} --model cmr7200 --speed 0"), "a factor lies between");
}
