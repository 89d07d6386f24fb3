//! Real clients against a server with memory as its export. Missing ones are skipped with a message
//! (`--nocapture`); in Debian they are in `libnbd-bin`, `python3-libnbd`, `qemu-utils` and `fio`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use shingle_nbd::listen::Address;
use shingle_nbd::memory::Memory;
use shingle_nbd::server::{Limits, Server};

struct Bed {
    _server: Server,
    memory: Arc<Memory>,
    folder: tempfile::TempDir,
    uri: String,
}

const MIB: usize = 1 << 20;

impl Bed {
    fn new(mib: usize, minimum_block: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nbd.sock");
        let memory = Arc::new(Memory::with_crashes(mib * MIB));
        let exports = vec![crate::common::served(Arc::clone(&memory) as _, minimum_block)];
        let uri = format!("nbd+unix:///disk?socket={}", path.display());
        let tell = |event| println!("{event}");
        let server = Server::start(&[Address::Unix(path)], exports, Limits::default(), tell);
        Self { _server: server.unwrap(), memory, folder, uri }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Bytes that do not repeat, with a hole of zeros in the middle.
    fn image(&self, mib: usize) -> PathBuf {
        let mut state = 1u64;
        let mut bytes = Vec::with_capacity(mib * MIB);
        while bytes.len() < mib * MIB {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            bytes.extend_from_slice(&(state >> 8).to_le_bytes());
        }
        bytes[mib * MIB / 3..mib * MIB / 2].fill(0);
        let path = self.path("image");
        fs::write(&path, bytes).unwrap();
        path
    }
}

/// Runs a program; `None` if it is missing. If `good`, it must succeed.
fn run(program: &str, arguments: &[&str], good: bool) -> Option<Output> {
    let output = match Command::new(program).args(arguments).env("PATH", path()).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("SKIPPED: {program} is not installed");
            return None;
        }
        other => other.unwrap(),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.success(), good, "{program} {arguments:?}\n{said}{complained}");
    Some(output)
}

/// The system's programs first: nbdsh needs the system's Python.
fn path() -> String {
    format!("/usr/bin:/bin:{}", std::env::var("PATH").unwrap_or_default())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn same(one: &Path, other: &Path) {
    assert!(fs::read(one).unwrap() == fs::read(other).unwrap(), "contents differ");
}

#[test]
fn nbdinfo() {
    let bed = Bed::new(8, 4096);
    let Some(output) = run("nbdinfo", &[&bed.uri], true) else { return };
    let text = said(&output);
    let fields = ["can_df", "can_fast_zero", "can_flush", "can_fua", "can_multi_conn", "can_trim"];
    for field in fields.into_iter().chain(["can_zero", "can_cache"]) {
        assert!(text.contains(&format!("{field}: true")), "{field}\n{text}");
    }
    for line in ["block_size_minimum: 4096", "base:allocation", "shingle:dirty", "a disk"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let list = run("nbdinfo", &["--list", &bed.uri], true).unwrap();
    assert!(said(&list).contains("export=\"disk\""), "{}", said(&list));
    run("nbdinfo", &[&bed.uri.replace("/disk?", "/other?")], false);
}

#[test]
fn nbdcopy_both_ways() {
    let bed = Bed::new(64, 1);
    let (image, back) = (bed.image(64), bed.path("back"));
    let (image_text, back_text) = (image.to_str().unwrap(), back.to_str().unwrap());
    if run("nbdcopy", &["--flush", image_text, &bed.uri], true).is_none() {
        return;
    }
    // Flushed data survives.
    bed.memory.crash();
    run("nbdcopy", &[&bed.uri, back_text], true);
    same(&image, &back);
    let map = run("nbdinfo", &["--map=base:allocation", &bed.uri], true).unwrap();
    assert!(said(&map).contains("hole,zero"), "{}", said(&map));
    let dirty = run("nbdinfo", &["--map=shingle:dirty", &bed.uri], true).unwrap();
    assert_eq!(said(&dirty).split_whitespace().collect::<Vec<_>>()[..3], ["0", "67108864", "0"]);
}

#[test]
fn qemu_io() {
    let bed = Bed::new(8, 1);
    let commands = [
        "write -P 0xab 1M 64k",
        "write -f -P 1 2M 4k",
        "write -z 1M 4k",
        "write -z -u -n 3M 64k",
        "discard 4M 1M",
        "flush",
        "read -P 0 1M 4k",
        "read -P 0xab 1028k 60k",
        "read -P 1 2M 4k",
        "aio_write -P 7 6M 1M",
        "aio_write -P 8 5M 1M",
        "aio_flush",
        "read -P 7 6M 1M",
        "read -P 8 5M 1M",
    ];
    let mut arguments = vec!["-f", "raw"];
    commands.iter().for_each(|command| arguments.extend(["-c", command]));
    arguments.push(&bed.uri);
    run("qemu-io", &arguments, true);
    if run("qemu-io", &["-f", "raw", "-c", "read -P 9 2M 4k", &bed.uri], false).is_some() {
        run("qemu-io", &["-f", "raw", "-c", "write 8M 4k", &bed.uri], false);
    }
}

#[test]
fn qemu_img() {
    let bed = Bed::new(64, 4096);
    let image = bed.image(64);
    let text = image.to_str().unwrap();
    let convert = ["convert", "-n", "-f", "raw", "-O", "raw", text, &bed.uri];
    if run("qemu-img", &convert, true).is_none() {
        return;
    }
    run("qemu-img", &["compare", "-f", "raw", "-F", "raw", text, &bed.uri], true);
    let map = run("qemu-img", &["map", "-f", "raw", "--output=json", &bed.uri], true).unwrap();
    assert!(said(&map).contains("\"zero\": true"), "{}", said(&map));
    let back = bed.path("back");
    let to = back.to_str().unwrap();
    run("qemu-img", &["convert", "-f", "raw", "-O", "raw", &bed.uri, to], true);
    same(&image, &back);
}

#[test]
fn fio_with_verify() {
    let bed = Bed::new(64, 1);
    let uri = format!("--uri={}", bed.uri);
    let arguments = [
        "--name=verify",
        "--ioengine=nbd",
        &uri,
        "--size=16M",
        "--offset_increment=16M",
        "--numjobs=4",
        "--rw=randwrite",
        "--bsrange=4k-64k",
        "--blockalign=4k",
        "--iodepth=32",
        "--verify=crc32c",
        "--verify_fatal=1",
        "--verify_state_save=0",
        "--fsync=64",
        "--randseed=7",
        "--group_reporting",
    ];
    if run("fio", &arguments, true).is_none() {
        return;
    }
    let trim = ["--name=trim", "--ioengine=nbd", &uri, "--size=64M", "--rw=randtrim", "--bs=64k"];
    run("fio", &trim, true);
    assert!(bed.memory.contents().iter().all(|&byte| byte == 0));
}

#[test]
fn nbdsh_tries_what_it_must_not() {
    let bed = Bed::new(1, 4096);
    let script = r#"
import errno
h.set_strict_mode(0)
def fails(code, f, *args):
    try:
        f(*args)
    except nbd.Error as e:
        assert e.errno == errno.errorcode[code], (e, code)
        return
    raise AssertionError("it was allowed: %r" % (args,))
size = h.get_size()
fails(errno.EINVAL, h.pread, 4096, size)
fails(errno.EINVAL, h.pread, 512, 0)
fails(errno.EINVAL, h.pread, 4096, 1)
fails(errno.ENOSPC, h.pwrite, b"x" * 4096, size)
fails(errno.ENOSPC, h.zero, 4096, size)
fails(errno.EINVAL, h.trim, 4096, size)
fails(errno.EINVAL, h.pwrite, b"x" * 100, 0)
fails(errno.EINVAL, h.pread, 4096, 0, nbd.CMD_FLAG_REQ_ONE)
fails(errno.EINVAL, h.block_status, 4096, 0, lambda *a: 0)
h.pwrite(b"x" * 4096, 0, nbd.CMD_FLAG_FUA)
h.zero(4096, 0, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE)
h.cache(4096, 0)
h.flush()
assert h.pread(4096, 0, nbd.CMD_FLAG_DF) == bytearray(4096)
h.shutdown()
"#;
    let script = script.replace("import errno", "import errno, nbd");
    let Some(output) = run("nbdsh", &["-u", &bed.uri, "-c", &script], true) else { return };
    assert_eq!(said(&output), "");
}
