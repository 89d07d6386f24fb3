//! A disk that is no device: blocks stored by something else, identified by a name.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use shingle_core::registry::Registry;
use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_device::{
    Device, DeviceError, Fingerprint, Mark, Medium, Volume, VolumeMedium, fingerprint_of,
};
use shingle_engine::buffer::Buffer;
use shingle_engine::format::Page;
use shingle_engine::settings::Settings;
use shingle_engine::{Command, CommandOp, Config};
use shingle_store::backend::{Disk, DiskName, Ready, Store};
use shingle_store::store::create::{Consent, create};
use shingle_store::store::format::{read_superblock, write_superblock};
use shingle_store::store::trust::{Doubt, Known, look};

const DISK_BLOCKS: u64 = 4096;

/// Blocks in memory, which outlive the disk made of them.
struct InMemory(Mutex<Vec<Page>>);

/// A block that the disk cannot read before it is served.
const BAD: u64 = 5;

impl Volume for InMemory {
    fn blocks(&self) -> u64 {
        DISK_BLOCKS
    }

    fn read(&self, block: Block, buffers: &mut [Buffer]) -> io::Result<()> {
        let pages = self.0.lock().expect("no panic");
        buffers.iter_mut().zip(&pages[block.0 as usize..]).for_each(|(b, page)| b.0 = *page);
        Ok(())
    }

    fn write(&self, block: Block, buffers: &[Buffer]) -> io::Result<()> {
        let mut pages = self.0.lock().expect("no panic");
        pages[block.0 as usize..].iter_mut().zip(buffers).for_each(|(page, b)| *page = b.0);
        Ok(())
    }

    fn trim(&self, _: Block, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn idle(&self) -> io::Result<bool> {
        Ok(false)
    }
}

#[derive(Clone)]
struct Named {
    volume: Arc<InMemory>,
    has_bad: bool,
    name: DiskName,
}

impl std::fmt::Debug for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.name)
    }
}

impl Disk for Named {
    fn path(&self) -> &Path {
        Path::new("memory")
    }

    fn bytes(&self) -> u64 {
        DISK_BLOCKS * BLOCK_BYTES
    }

    fn read_blocks(&self, first: Block, out: &mut [Page]) -> Result<(), DeviceError> {
        if self.has_bad && (first.0..first.0 + out.len() as u64).contains(&BAD) {
            let why = io::Error::from_raw_os_error(5);
            return Err(DeviceError::System { what: "read", path: self.path().into(), error: why });
        }
        let pages = self.volume.0.lock().expect("no panic");
        out.copy_from_slice(&pages[first.0 as usize..][..out.len()]);
        Ok(())
    }

    fn name(&self) -> Option<DiskName> {
        Some(self.name)
    }

    fn samples(&self) -> Result<Fingerprint, DeviceError> {
        fingerprint_of(self.bytes(), |first, pages| self.read_blocks(first, pages))
    }

    fn mark(&self) -> Result<Option<Mark>, DeviceError> {
        Ok(None)
    }

    fn leave_mark(&self, _: &Mark) -> Result<bool, DeviceError> {
        Ok(false)
    }

    fn belong_to_none(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn device(&self) -> Option<&Device> {
        None
    }

    fn medium(&self) -> Option<Box<dyn Medium>> {
        Some(Box::new(VolumeMedium(self.volume.clone())))
    }

    fn share(&self) -> Box<dyn Disk> {
        Box::new(self.clone())
    }
}

struct Bed {
    _folder: tempfile::TempDir,
    ssd: PathBuf,
    volume: Arc<InMemory>,
}

impl Bed {
    /// With a cache for the disk named 1.
    fn new() -> Bed {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let ssd = folder.path().join("ssd");
        std::fs::File::create(&ssd).and_then(|file| file.set_len(24 << 20)).expect("made");
        let pages = vec![[0; BLOCK_BYTES as usize]; DISK_BLOCKS as usize];
        let volume = Arc::new(InMemory(Mutex::new(pages)));
        let bed = Bed { _folder: folder, ssd, volume };
        let settings = Settings::new("lru");
        create(&bed.open(), &bed.disk(1), &settings, &Registry::default(), Consent::default())
            .expect("made");
        bed
    }

    fn open(&self) -> Device {
        Device::open(&self.ssd).expect("opened")
    }

    fn disk(&self, name: u8) -> Named {
        Named { volume: self.volume.clone(), has_bad: false, name: [name; 16] }
    }

    fn ready(&self, name: u8) -> Ready {
        Ready::from_devices(self.open(), Box::new(self.disk(name))).expect("they fit")
    }

    fn start(&self) -> Store {
        let ready = self.ready(1);
        let slots = ready.superblock().layout.slots;
        let cache = Settings::new("lru").cache(&Registry::default(), slots as u32, DISK_BLOCKS);
        ready.start(cache.expect("made"), Config::for_slots(slots)).expect("it starts")
    }

    fn known(&self, name: u8) -> Known {
        let ready = self.ready(name);
        look(ready.found(), ready.ssd(), ready.disk()).expect("told")
    }
}

fn call(store: &Store, op: CommandOp, block: u64, blocks: u64, data: Vec<u8>) -> Vec<u8> {
    let command = Command::new(0, op, block * BLOCK_BYTES, blocks * BLOCK_BYTES);
    store.handle().call(Command { data, ..command }).expect("done")
}

#[test]
fn a_store_reads_and_writes_what_something_else_keeps() {
    let bed = Bed::new();
    bed.volume.0.lock().expect("no panic")[7] = [7; BLOCK_BYTES as usize];
    let store = bed.start();
    assert_eq!(call(&store, CommandOp::Read, 7, 1, Vec::new()), [7; BLOCK_BYTES as usize]);
    call(&store, CommandOp::Write, 9, 1, vec![9; BLOCK_BYTES as usize]);
    call(&store, CommandOp::Flush, 0, 0, Vec::new());
    shingle_store::store::drain::drain(store.handle(), &mut |_| Ok(())).expect("drained");
    assert_eq!(bed.volume.0.lock().expect("no panic")[9], [9; BLOCK_BYTES as usize]);
    store.shut_down().expect("in order");
}

/// After an orderly end, and after a crash (for the SSD this is one), when nothing was recorded
/// about the disk.
#[test]
fn a_disk_of_another_name_is_never_taken_for_the_right_one() {
    let bed = Bed::new();
    assert_eq!(bed.known(1), Known::AsItWas);
    assert_eq!(bed.known(2), Known::Doubtful(Doubt::NotIt));
    let store = bed.start();
    call(&store, CommandOp::Write, 9, 1, vec![9; BLOCK_BYTES as usize]);
    store.shut_down().expect("in order");
    assert!(matches!(bed.known(1), Known::Nothing { .. }));
    assert_eq!(bed.known(2), Known::Doubtful(Doubt::NotIt));
}

/// Bad blocks only concern those who read them.
#[test]
fn a_block_that_cannot_be_read_leaves_the_others_to_tell() {
    let bed = Bed::new();
    let known = || {
        let disk = Named { has_bad: true, ..bed.disk(1) };
        let ready = Ready::from_devices(bed.open(), Box::new(disk)).expect("they fit");
        look(ready.found(), ready.ssd(), ready.disk())
    };
    known().expect_err("nothing is cached that could tell");
    let store = bed.start();
    call(&store, CommandOp::Write, 1000, 8, vec![9; 8 * BLOCK_BYTES as usize]);
    shingle_store::store::drain::drain(store.handle(), &mut |_| Ok(())).expect("drained");
    store.shut_down().expect("in order");
    let (mut superblock, worse) = read_superblock(&bed.open()).expect("whole");
    superblock.fingerprint = bed.disk(1).fingerprint().expect("told");
    write_superblock(&bed.open(), &superblock, worse).expect("written");
    assert_eq!(bed.known(1), Known::AsItWas);
    assert_eq!(known().expect("told"), Known::Nothing { compared: 8 });
    bed.volume.0.lock().expect("no panic")[1003][0] = 1;
    assert!(matches!(known().expect("told"), Known::Doubtful(Doubt::Differs { .. })));
}

#[test]
fn a_disk_that_was_written_without_its_cache_is_noticed() {
    let bed = Bed::new();
    bed.volume.0.lock().expect("no panic")[0][0] = 1;
    assert_eq!(bed.known(1), Known::Doubtful(Doubt::Changed));
}
