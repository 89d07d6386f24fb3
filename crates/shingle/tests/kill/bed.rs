//! A store in a process of its own, on files that may lose what was not flushed.

use std::fs::{self, File};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use shingle_nbd::client::{Client, Wishes};
use shingle_store::store::control::{self, Answer, Request};
use uuid::Uuid;

const MIB: u64 = 1 << 20;
/// All of the disk is used: far more than fits into the cache.
pub(crate) const DISK_BYTES: u64 = 48 * MIB;
const CACHE_BYTES: u64 = 16 * MIB;
const START_MAX: Duration = Duration::from_secs(20);

pub(crate) struct Bed {
    folder: tempfile::TempDir,
    /// The file system below `place`, if it is our own.
    system: Option<&'static str>,
    uuid: Uuid,
    server: Option<Child>,
}

/// Runs a program, which must succeed; else what it said.
fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

impl Bed {
    /// A store in a folder, or on a file system that is made for it; fails if that cannot be done here.
    pub(crate) fn new(policy: &str, system: Option<&'static str>) -> Result<Bed, String> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let mut bed = Bed { folder, system: None, uuid: Uuid::nil(), server: None };
        fs::create_dir(bed.path("place")).expect("made");
        if let Some(system) = system {
            bed.make_system(system)?;
        }
        for (name, bytes) in [("cache", CACHE_BYTES), ("disk", DISK_BYTES)] {
            let file = File::create(bed.place(name)).expect("made");
            file.set_len(bytes).and_then(|()| file.sync_all()).expect("sized");
        }
        let mut create = bed.store("create");
        let output = create.args(["--policy", policy, "--quiet"]).output().expect("started");
        let said = String::from_utf8_lossy(&output.stdout);
        bed.uuid = said.trim().parse().map_err(|_| String::from_utf8_lossy(&output.stderr))?;
        Ok(bed)
    }

    fn make_system(&mut self, system: &'static str) -> Result<(), String> {
        let image = self.path("image");
        File::create(&image).and_then(|file| file.set_len(400 * MIB)).expect("made");
        let mkfs = format!("mkfs.{system}");
        let force = if system == "ext4" { "-qF" } else { "-qf" };
        run(&mkfs, &[force, image.to_str().expect("text")])?;
        self.system = Some(system);
        let mounted = self.mount();
        if mounted.is_err() {
            self.system = None;
        }
        mounted
    }

    fn mount(&self) -> Result<(), String> {
        let (image, place) = (self.path("image"), self.path("place"));
        run("mount", &["-o", "loop", image.to_str().expect("text"), place.to_str().expect("text")])
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// On what survives.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.path("place").join(name)
    }

    fn store(&self, what: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shingle"));
        command.args(["store", what]);
        command.arg("--cache").arg(self.place("cache")).arg("--disk").arg(self.place("disk"));
        command
    }

    /// Starts the server; it may not be ready yet.
    pub(crate) fn start(&mut self) {
        let log = File::create(self.path("log")).expect("made");
        let mut nbd = std::ffi::OsString::from("unix:");
        nbd.push(self.path("nbd"));
        let child = self.store("serve").arg("--nbd").arg(nbd).stderr(log).spawn();
        self.server = Some(child.expect("started"));
    }

    /// Once the server is ready.
    pub(crate) fn client(&mut self) -> Client<UnixStream> {
        let begun = Instant::now();
        loop {
            if let Ok(stream) = UnixStream::connect(self.path("nbd")) {
                let wishes = Wishes { export: "", structured: true, contexts: &[] };
                if let Ok(client) = Client::connect(stream, &wishes) {
                    return client;
                }
            }
            let ended = self.server.as_mut().and_then(|child| child.try_wait().expect("asked"));
            assert!(ended.is_none() && begun.elapsed() < START_MAX, "{}", self.said());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// What the server has said last.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Sets something while it runs; whether it answered is not of interest, a kill may come first.
    pub(crate) fn set(&self, what: String) {
        let _ = self.ask(&Request::Set { what: vec![what] });
    }

    fn ask(&self, request: &Request) -> Result<Answer, control::ControlError> {
        control::ask(&control::socket(self.uuid), &mut |_| {}, request)
    }

    /// SIGKILL; and below a file system of our own, what was not flushed is lost.
    pub(crate) fn cut(&mut self) {
        let place = self.path("place");
        let place = place.to_str().expect("text");
        if self.system.is_some() {
            run("xfs_io", &["-F", "-x", "-c", "shutdown", place]).expect("shut down");
        }
        self.kill();
        if self.system.is_some() {
            run("umount", &[place]).expect("unmounted");
            self.mount().expect("mounted");
        }
    }

    fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().and_then(|()| server.wait()).expect("killed");
        }
    }

    /// Ends it in order; the cache must be sound, and is exported.
    pub(crate) fn finish(mut self, look: impl FnOnce(&Path)) {
        assert_eq!(self.ask(&Request::Stop).expect("answered"), Answer::Done(()));
        let status = self.server.take().expect("it serves").wait().expect("waited for");
        assert!(status.success(), "{}", self.said());
        for what in ["check", "export", "check"] {
            let output = self.store(what).arg("--quiet").output().expect("started");
            assert!(output.status.success(), "{what}: {output:?}");
        }
        look(&self.place("disk"));
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.kill();
        if self.system.is_some() {
            let _ = run("umount", &["-l", self.path("place").to_str().expect("text")]);
        }
    }
}
