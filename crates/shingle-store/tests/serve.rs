//! A cache served over real sockets: clients, operators, restarts, and the end of it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::JoinHandle;

use shingle_core::registry::Registry;
use shingle_nbd::client::{Client, Wishes};
use shingle_nbd::listen::Address;
use shingle_nbd::replies::Descriptor;
use shingle_nbd::wire::command;
use shingle_store::backend::Device;
use shingle_store::store::check::check;
use shingle_store::store::control::{Answer, ControlError, Request, ask};
use shingle_store::store::create::{Consent, create, name};
use shingle_store::store::serve::{Options, ServeError, Serving, export};
use shingle_store::store::settings::Settings;
use shingle_store::store::status::Status;
use uuid::Uuid;

const MIB: u64 = 1 << 20;

/// An SSD, a disk and sockets, in a folder.
struct Bed {
    folder: tempfile::TempDir,
    uuid: Uuid,
}

impl Bed {
    fn new() -> Bed {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let mut bed = Bed { folder, uuid: Uuid::nil() };
        for (name, bytes) in [("ssd", 24 * MIB), ("disk", 64 * MIB)] {
            File::create(bed.path(name)).and_then(|file| file.set_len(bytes)).expect("made");
        }
        let (ssd, disk) = bed.devices();
        let made =
            create(&ssd, &disk, &Settings::new("sac"), &Registry::default(), Consent::default())
                .expect("made");
        bed.uuid = Uuid::from_bytes(made.uuid);
        bed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn devices(&self) -> (Device, Device) {
        Device::pair(&self.path("ssd"), &self.path("disk")).expect("opened")
    }

    fn try_serve(&self, trust_disk: bool) -> Result<Serving, ServeError> {
        let options = Options {
            ssd: self.path("ssd"),
            disk: self.path("disk"),
            addresses: vec![Address::Unix(self.path("nbd"))],
            minimum_block: 1,
            trust_disk,
            control: Some(self.path("control")),
        };
        Serving::start(options, &Registry::default(), |_| {})
    }

    fn serve(&self) -> JoinHandle<Result<(), ServeError>> {
        let serving = self.try_serve(false).expect("it is served");
        assert_eq!(serving.uuid(), self.uuid);
        std::thread::spawn(|| serving.wait())
    }

    fn client(&self) -> Client<UnixStream> {
        let stream = UnixStream::connect(self.path("nbd")).expect("connected");
        let wishes = Wishes { export: "", structured: true, contexts: &["shingle:dirty"] };
        Client::connect(stream, &wishes).expect("a handshake")
    }

    fn ask(&self, request: &Request) -> Answer {
        ask(&self.path("control"), &mut |_| {}, request).expect("answered")
    }

    fn status(&self) -> Status {
        match self.ask(&Request::Status) {
            Answer::Status(status) => *status,
            other => panic!("{other:?}"),
        }
    }

    fn stop(&self, serving: JoinHandle<Result<(), ServeError>>) {
        assert_eq!(self.ask(&Request::Stop), Answer::Done(()));
        serving.join().expect("no panic").expect("in order");
    }

    /// What the disk holds by itself.
    fn disk(&self, offset: u64, bytes: usize) -> Vec<u8> {
        let mut out = vec![0; bytes];
        File::open(self.path("disk"))
            .expect("there")
            .read_exact_at(&mut out, offset)
            .expect("read");
        out
    }
}

fn write(client: &mut Client<UnixStream>, offset: u64, data: &[u8]) {
    client.write(offset, data, 0).expect("connected").expect("written");
}

fn read(client: &mut Client<UnixStream>, offset: u64, bytes: usize) -> Vec<u8> {
    client.read(offset, bytes as u32).expect("connected").expect("read")
}

#[test]
fn what_clients_write_survives_restarts_and_reaches_the_disk() {
    let bed = Bed::new();
    let serving = bed.serve();
    let mut client = bed.client();
    assert_eq!(client.size_bytes(), 64 * MIB);
    write(&mut client, 5000, b"hello, shingled world");
    client.flush().expect("connected").expect("flushed");
    assert_eq!(read(&mut client, 4998, 7), b"\0\0hello");
    let status = bed.status();
    assert_eq!((status.dirty_blocks, status.connections), (1, 1));
    assert_eq!((status.policy.as_str(), status.mode.as_str()), ("sac", "write-back"));
    assert_eq!(bed.disk(5000, 5), [0; 5], "the disk does not have it yet");
    // The block is dirty, its neighbours are not.
    let reply = client.call(command::BLOCK_STATUS, 0, 0, 16_384, &[]);
    let said = reply.expect("connected").expect("told");
    let extents: Vec<(u32, u32)> = said
        .status
        .iter()
        .flat_map(|(_, extents)| extents)
        .map(|&Descriptor { length, flags }| (length, flags))
        .collect();
    assert_eq!(extents, [(4096, 0), (4096, 1), (8192, 0)]);
    client.disconnect().expect("connected");
    bed.stop(serving);
    let (ssd, disk) = bed.devices();
    let findings = check(&ssd, Some(&disk), &mut |_, _| {}).expect("sound");
    assert!(findings.clean && findings.is_sound() && findings.disk_changed == Some(false));
    assert_eq!(findings.dirty_blocks, 1);
    drop((ssd, disk));
    let serving = bed.serve();
    let mut client = bed.client();
    assert_eq!(read(&mut client, 5000, 5), b"hello");
    assert_eq!(bed.ask(&Request::Flush), Answer::Done(()));
    assert_eq!(bed.status().dirty_blocks, 0);
    assert_eq!(bed.disk(5000, 21), b"hello, shingled world");
    drop(client);
    bed.stop(serving);
}

/// Why policy `none` is none for a store.
const NONE: &str = "policy `none` caches nothing, and what is cached would never leave; set \
                    mode=pass-through instead";

#[test]
fn settings_are_set_while_it_runs_and_kept() {
    let bed = Bed::new();
    let serving = bed.serve();
    let set = |text: &str| bed.ask(&Request::Set { what: vec![text.to_owned()] });
    assert_eq!(set("mode=write-through"), Answer::Done(()));
    let mut client = bed.client();
    write(&mut client, 0, b"through");
    client.flush().expect("connected").expect("flushed");
    assert_eq!(bed.disk(0, 7), b"through");
    // Another policy takes over what is cached, at once.
    let before = bed.status();
    assert_eq!(set("policy=most"), Answer::Done(()));
    assert_eq!(set("policy=none"), Answer::Failed(NONE.to_owned()));
    let after = bed.status();
    assert_eq!((before.policy.as_str(), after.policy.as_str()), ("sac", "most"));
    let cached = |status: &Status| status.clean_blocks + status.dirty_blocks;
    assert_eq!((cached(&before), cached(&after)), (1, 1));
    assert_eq!(&read(&mut client, 0, 7), b"through");
    assert_eq!(bed.status().read_hits, before.read_hits + 1);
    for (text, told) in
        [("mode=fast", "no mode"), ("policy=sacc", "no policy"), ("x", "NAME=VALUE")]
    {
        match set(text) {
            Answer::Failed(why) => assert!(why.contains(told), "{why}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    drop(client);
    bed.stop(serving);
    let serving = bed.serve();
    let status = bed.status();
    assert_eq!((status.policy.as_str(), status.mode.as_str()), ("most", "write-through"));
    bed.stop(serving);
}

#[test]
fn a_disk_that_was_written_without_its_cache_is_noticed() {
    let bed = Bed::new();
    let serving = bed.serve();
    write(&mut bed.client(), 40 * MIB, b"dirty");
    bed.stop(serving);
    let disk = File::options().write(true).open(bed.path("disk")).expect("there");
    disk.write_all_at(b"mounted elsewhere", 1024).expect("written");
    let error = bed.try_serve(false).map(drop).expect_err("changed").to_string();
    assert!(error.contains("without its cache"), "{error}");
    assert!(error.contains(&format!("--destroy {}", bed.uuid)), "{error}");
    let serving = bed.try_serve(true).expect("trusted");
    let stopper = serving.stopper();
    let serving = std::thread::spawn(|| serving.wait());
    assert_eq!(read(&mut bed.client(), 40 * MIB, 5), b"dirty");
    stopper.stop();
    serving.join().expect("no panic").expect("in order");
}

#[test]
fn a_detached_disk_has_everything() {
    let bed = Bed::new();
    let serving = bed.serve();
    let mut client = bed.client();
    for block in 0..300_u64 {
        write(&mut client, block * 8192, &[(block % 255) as u8 + 1; 100]);
    }
    drop(client);
    assert_eq!(bed.ask(&Request::Detach), Answer::Done(()));
    serving.join().expect("no panic").expect("in order");
    assert_eq!(name(&bed.path("ssd")).expect("read"), None, "it is no cache any more");
    for block in 0..300_u64 {
        assert_eq!(bed.disk(block * 8192, 100), [(block % 255) as u8 + 1; 100]);
    }
    let nobody = ask(&bed.path("control"), &mut |_| {}, &Request::Status);
    assert!(matches!(nobody, Err(ControlError::Nobody(_))));
}

#[test]
fn export_empties_a_cache_that_nobody_serves() {
    let bed = Bed::new();
    let serving = bed.serve();
    write(&mut bed.client(), 9 * MIB, b"only in the cache");
    bed.stop(serving);
    export(&bed.path("ssd"), &bed.path("disk"), &Registry::default(), &mut |_| {}).expect("done");
    assert_eq!(bed.disk(9 * MIB, 17), b"only in the cache");
    let (ssd, disk) = bed.devices();
    let findings = check(&ssd, Some(&disk), &mut |_, _| {}).expect("sound");
    assert!(findings.dirty_blocks == 0 && findings.clean_blocks > 0 && findings.is_sound());
}
