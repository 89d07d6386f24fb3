//! A store, or a zoned disk by itself, in a process of its own, on files or block devices that may lose what was not
//! flushed.

use std::fs::{self, File};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use shingle_core::units::Block;
use shingle_nbd::client::{Client, ClientOptions};
use shingle_store::backend::open_disk;
use shingle_store::store::control::{self, Answer, Request};
use shingle_testbed::{Loop, Mount, run, text};
use uuid::Uuid;

const MIB: u64 = 1 << 20;
/// All of the disk is used: far more than fits into the cache.
pub(crate) const DISK_BYTES: u64 = 48 * MIB;
const CACHE_BYTES: u64 = 16 * MIB;
/// A zoned disk is a little larger than what is used of it.
const ZONES: u64 = 80;
const ZONED_BYTES: u64 = (1 + ZONES) * MIB;
const START_MAX: Duration = Duration::from_secs(60);

/// What the SSD and the disk are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Files,
    /// Loop devices over these files, which go through the page cache.
    LoopDevices,
    /// Files, of which the disk is a zoned one under this translation; or only that, and no SSD.
    /// Or loop devices over files, as above: the disk has no zones of its own.
    Zoned {
        translation: &'static str,
        ssd: bool,
        devices: bool,
    },
}

pub(crate) struct Bed {
    /// Dropped in this order: the server, what it uses, where that lies.
    server: Option<Child>,
    kind: Kind,
    /// SSD and disk, if they are devices.
    loops: Option<[Loop; 2]>,
    /// The file system below `place`, if it is our own.
    system: Option<Mount>,
    folder: tempfile::TempDir,
    uuid: Uuid,
}

impl Bed {
    /// A store in a folder, or on a file system that is made for it; fails if the machine cannot do that.
    pub(crate) fn new(policy: &str, kind: Kind, system: Option<&str>) -> Result<Bed, String> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let uuid = Uuid::nil();
        let mut bed = Bed { server: None, kind, loops: None, system: None, folder, uuid };
        fs::create_dir(bed.path("place")).expect("made");
        if let Some(system) = system {
            bed.make_system(system)?;
        }
        bed.make("cache", CACHE_BYTES);
        match kind {
            Kind::Zoned { devices: false, .. } => {}
            Kind::Zoned { devices: true, .. } => bed.fill_disk(),
            Kind::Files | Kind::LoopDevices => bed.make("disk", DISK_BYTES),
        }
        bed.attach()?;
        if let Kind::Zoned { translation, .. } = kind {
            bed.uuid = bed.make_zoned(translation);
        }
        if !bed.is_without_cache() {
            let mut create = bed.serving("create");
            create.args(["--policy", policy, "--quiet"]);
            bed.uuid = said(&mut create).parse().expect("the name of the cache");
        }
        Ok(bed)
    }

    fn make(&self, name: &str, bytes: u64) {
        let file = File::create(self.path("place").join(name)).expect("made");
        file.set_len(bytes).and_then(|()| file.sync_all()).expect("sized");
    }

    /// A device that is made a zoned disk has old data, which must never be read again.
    fn fill_disk(&self) {
        let disk = self.path("place").join("disk");
        let old = (0..ZONED_BYTES).map(|at| 1 + (at % 251) as u8).collect::<Vec<_>>();
        fs::write(&disk, old).expect("written");
        File::open(&disk).and_then(|file| file.sync_all()).expect("durable");
    }

    /// Returns the name of its map.
    fn make_zoned(&self, translation: &str) -> Uuid {
        let [_, disk] = self.places();
        let zoned = |what: &str| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_shingle"));
            command.args(["zoned", what]).arg(&disk).arg("--quiet");
            command
        };
        let zones = ZONES.to_string();
        let size = ["--zones", &zones, "--zone-size", "1M", "--conventional", "10"];
        // Of a device as many zones as it has room for.
        said(zoned("create").args(if self.loops.is_some() { &size[2..] } else { &size[..] }));
        said(zoned("format").args(["-t", translation])).parse().expect("the name of the map")
    }

    /// Without an SSD.
    fn is_without_cache(&self) -> bool {
        matches!(self.kind, Kind::Zoned { ssd: false, .. })
    }

    fn make_system(&mut self, system: &str) -> Result<(), String> {
        // Without it nothing is ever lost.
        run("xfs_io", &["-V"])?;
        let image = self.path("image");
        File::create(&image).and_then(|file| file.set_len(400 * MIB)).expect("made");
        let force = if system == "ext4" { "-qF" } else { "-qf" };
        run(&format!("mkfs.{system}"), &[force, text(&image)])?;
        self.mount()
    }

    fn mount(&mut self) -> Result<(), String> {
        let (image, place) = (self.path("image"), self.path("place"));
        self.system = Some(Mount::new(&image, &place, Some("loop"))?);
        Ok(())
    }

    fn attach(&mut self) -> Result<(), String> {
        if matches!(self.kind, Kind::LoopDevices | Kind::Zoned { devices: true, .. }) {
            let [ssd, disk] = ["cache", "disk"].map(|name| self.path("place").join(name));
            self.loops = Some([Loop::new(&ssd, &[])?, Loop::new(&disk, &[])?]);
        }
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// SSD and disk.
    fn places(&self) -> [PathBuf; 2] {
        match &self.loops {
            Some(loops) => loops.each_ref().map(|device| device.path().to_owned()),
            None => ["cache", "disk"].map(|name| self.path("place").join(name)),
        }
    }

    /// A command of whoever serves it.
    fn serving(&self, what: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shingle"));
        let [ssd, disk] = self.places();
        if self.is_without_cache() {
            command.args(["zoned", what]).arg(disk);
        } else {
            command.args(["store", what]).arg("--cache").arg(ssd).arg("--disk").arg(disk);
        }
        command
    }

    /// Starts the server; it may not be ready yet.
    pub(crate) fn start(&mut self) {
        let log = File::create(self.path("log")).expect("made");
        let mut nbd = std::ffi::OsString::from("unix:");
        nbd.push(self.path("nbd"));
        let child = self.serving("serve").arg("--nbd").arg(nbd).stderr(log).spawn();
        self.server = Some(child.expect("started"));
    }

    /// Once the server is ready.
    pub(crate) fn client(&mut self) -> Client<UnixStream> {
        let begun = Instant::now();
        loop {
            if let Ok(stream) = UnixStream::connect(self.path("nbd")) {
                let options = ClientOptions { export: "", structured: true, contexts: &[] };
                if let Ok(client) = Client::connect(stream, &options) {
                    return client;
                }
            }
            let ended = self.server.as_mut().and_then(|child| child.try_wait().expect("asked"));
            assert!(begun.elapsed() < START_MAX, "{}", self.said());
            if ended.is_some() {
                // I/O of the one that was killed may still be under way, and it keeps the lock so long.
                assert!(self.said().contains("in use by another process"), "{}", self.said());
                self.start();
            }
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

    /// SIGKILL. On a file system of our own it is a power cut: the file system is shut down, so that
    /// neither its journal nor its page cache reach the image any more, and is mounted anew from what
    /// the image holds.
    ///
    /// What that loses: of files, which the store writes past the page cache, the metadata. A write of
    /// blocks that the file had before is in the image at once; one that needs new blocks is lost unless
    /// the file was flushed. Of loop devices all data: what the store writes to them past their own
    /// page cache is in the page cache of the file behind until the device is flushed. So a flush
    /// that goes to the other device, or nowhere, is found there.
    ///
    /// What is answered while the file system goes down proves nothing: an fsync that ends then may
    /// succeed on XFS, and the blocks that it was to allocate are lost all the same. (Linux 6.18,
    /// without this program: of 240 files that were appended to with an fsync for each block, 20 lost the
    /// last block whose fsync had succeeded; of 160 on ext4 none did.)
    pub(crate) fn cut(&mut self) {
        if let Some(system) = &self.system {
            run("xfs_io", &["-F", "-x", "-c", "shutdown", text(system.folder())])
                .expect("shut down");
        }
        self.kill();
        if let Some(system) = self.system.take() {
            for device in self.loops.take().into_iter().flatten() {
                device.detach().expect("taken away");
            }
            system.unmount().expect("unmounted");
            self.mount().and_then(|()| self.attach()).expect("there again");
        }
    }

    /// Whether a cut is one of a file system below.
    pub(crate) fn is_on_a_system(&self) -> bool {
        self.system.is_some()
    }

    fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().and_then(|()| server.wait()).expect("killed");
        }
    }

    /// Ends it in order; it must be sound, and is exported. `look` is given what reads a block of the disk.
    pub(crate) fn finish(mut self, look: impl FnOnce(&dyn Fn(u64) -> Vec<u8>)) {
        assert_eq!(self.ask(&Request::Stop).expect("answered"), Answer::Done(()));
        let status = self.server.take().expect("it serves").wait().expect("waited for");
        assert!(status.success(), "{}", self.said());
        let whats =
            if self.is_without_cache() { &["check"][..] } else { &["check", "export", "check"] };
        for &what in whats {
            let output = self.serving(what).arg("--quiet").output().expect("started");
            assert!(output.status.success(), "{what}: {output:?}");
        }
        let disk = open_disk(&self.places()[1]).expect("opened");
        look(&|block| {
            let mut pages = [[0; 4096]];
            disk.read_blocks(Block(block), &mut pages).expect("read");
            pages.concat()
        });
    }
}

/// Runs to success, and returns what it prints.
fn said(command: &mut Command) -> String {
    let output = command.output().expect("started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.kill();
    }
}
