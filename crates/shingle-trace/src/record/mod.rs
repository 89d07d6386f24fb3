//! Recordings: a native trace of the requests to a cache, followed by the events that belong to
//! them (`docs/format-native.md`, version 2).
//!
//! A reader of traces sees only the requests; [`read::Events`] sees all.

mod code;
mod read;
mod spool;
mod write;

pub use read::Events;
pub(crate) use read::skip;
pub use write::{Recorder, Recording};

/// The cache that was recorded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct About {
    /// Slots of the cache.
    pub slots: u32,
    /// Size of the disk.
    pub disk_blocks: u64,
    /// Policy and parameters, one line `NAME=VALUE` each.
    pub settings: String,
}

impl About {
    fn to_text(&self) -> String {
        format!("slots={}\ndisk_blocks={}\n{}", self.slots, self.disk_blocks, self.settings)
    }

    fn of_text(text: &str) -> Option<About> {
        let (slots, rest) = text.strip_prefix("slots=")?.split_once('\n')?;
        let (disk_blocks, settings) = rest.strip_prefix("disk_blocks=")?.split_once('\n')?;
        let (slots, disk_blocks) = (slots.parse().ok()?, disk_blocks.parse().ok()?);
        Some(About { slots, disk_blocks, settings: settings.to_owned() })
    }
}

/// The head of a chunk of events: checksum of the rest, bytes after the head, number of events.
pub(crate) const CHUNK_HEAD_BYTES: usize = 12;

/// The most bytes of a chunk after its head.
pub(crate) const CHUNK_BYTES_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::write::BATCH_EVENTS;
    use shingle_core::cache::Outcome;
    use shingle_core::observer::{Attempt, Event, Observer};
    use shingle_core::policy::Cost;
    use shingle_core::units::{Block, Nanos, Op, Request, Slot};

    use super::*;

    fn events() -> Vec<Event> {
        let request =
            |at, op, offset, bytes| Event::Request(Request { at: Nanos(at), offset, bytes, op });
        let block = Block(77);
        let access = |asked, outcome| Event::Access { asked, number: 1, block, outcome };
        let io = |ssd, op, blocks| Event::Io {
            ssd,
            op,
            first: Block(1 << 40),
            blocks,
            at: Nanos(17),
            took: Nanos(3),
            done: blocks != 4,
        };
        vec![
            Event::Restored { block, dirty: true },
            Event::Restored { block: Block(3), dirty: false },
            request(5, Op::Write, 4096, 8192),
            request(9, Op::Read, 0, 0), // not valid in a trace
            request(9, Op::Flush, 0, 0),
            access(Attempt::Access, Outcome::NoRoom),
            access(Attempt::Retry, Outcome::Miss(Slot(3))),
            access(Attempt::Access, Outcome::Hit(Slot(0))),
            access(Attempt::Access, Outcome::Bypass),
            Event::Dropped(Block(9)),
            Event::Leaves(Block(8)),
            Event::Stays(Block(7)),
            Event::Room(12),
            Event::Idle(128),
            Event::Time(Nanos(1_000)),
            Event::Begun(Slot(5), true),
            Event::Begun(Slot(6), false),
            Event::Destaged(Slot(7), true),
            Event::Destaged(Slot(8), false),
            Event::Kept(Slot(9)),
            Event::Trimmed { first: block, count: 1 << 33, dropped: 2 },
            Event::Pinned(Slot(1)),
            Event::Unpinned(Slot(1)),
            Event::Observed(Cost { op: Op::Write, blocks: 128, took: Nanos(40_000_000) }),
            io(true, Op::Write, 4),
            io(false, Op::Flush, 0),
            Event::Answered { number: 0, at: Nanos(999), done: true },
            Event::Answered { number: 2, at: Nanos(2_000), done: false },
            request(2_500, Op::Trim, 0, 1 << 40),
        ]
    }

    fn requests(path: &str) -> Result<Vec<Request>, crate::TraceError> {
        let mut opened = crate::open(path, &crate::OpenOptions::default())?;
        crate::read_all(opened.source.as_mut(), &mut |_| {})
    }

    #[test]
    fn what_is_recorded_is_read_as_a_trace_and_event_by_event() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("live.shingle").display().to_string();
        let settings = "policy=sac\nmode=write-back\n".to_owned();
        let about = About { slots: 9, disk_blocks: 1 << 41, settings };
        // Enough for several chunks and blocks.
        let all: Vec<Event> = (0..5_000)
            .flat_map(|turn| {
                events().into_iter().map(move |event| match event {
                    Event::Request(request) => {
                        Event::Request(Request { at: request.at + Nanos(turn * 3_000), ..request })
                    }
                    event => event,
                })
            })
            .collect();
        let (mut recorder, recording) = Recording::begin(&path, &about).expect("a file");
        all.iter().for_each(|event| recorder.event(event));
        drop(recorder);
        assert_eq!(recording.finish().expect("written"), Vec::<String>::new());
        assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 1);

        let mut read = Events::open(&path).expect("it is a recording");
        assert_eq!(read.about(), &about);
        for (number, event) in all.iter().enumerate() {
            assert_eq!(read.next().expect("whole").as_ref(), Some(event), "event {number}");
        }
        assert_eq!(read.next().expect("whole"), None);

        let requests = requests(&path).expect("a trace, and whole");
        let in_trace = |event: &&Event| matches!(event, Event::Request(request) if request.bytes > 0 || request.op == Op::Flush);
        assert_eq!(requests.len(), all.iter().filter(in_trace).count());
        assert_eq!((requests[0].at, requests[0].bytes), (Nanos(0), 8192));
        assert_eq!(requests[1].op, Op::Flush);
        let indexed = crate::native::Indexed::open(&path);
        let indexed = indexed.expect("it has an index");
        let (mut reading, mut by_index) = (crate::native::Reading::default(), Vec::new());
        for block in 0..indexed.blocks() {
            indexed.read(block, &mut reading, &mut by_index).expect("whole");
        }
        assert_eq!(by_index, requests);
    }

    /// The unnamed files and then the named one together take no more space than the recording.
    #[test]
    fn on_a_full_file_system_there_is_what_came_before() {
        let folder = shingle_testbed::folder();
        let mounted = shingle_testbed::Mount::in_memory(folder.path(), 12 << 20);
        if !shingle_testbed::skip_if(
            "a file system that is full",
            mounted.as_ref().map_err(Clone::clone),
        ) {
            return;
        }
        let path = folder.path().join("live.shingle").display().to_string();
        let (to, told) = std::sync::mpsc::channel();
        let tell = move |error: &crate::TraceError| to.send(error.to_string()).expect("heard");
        let begun = Recording::begin_telling(&path, &About::default(), tell);
        let (mut recorder, recording) = begun.expect("a file");
        // Only requests, so that both unnamed files become large.
        let all = (0..).map(|n: u64| {
            let offset = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 << 12;
            Event::Request(Request { at: Nanos(n * 1_000), offset, bytes: 4096, op: Op::Write })
        });
        // Fewer than may wait, and more than there is space for.
        all.clone().take(2_000_000).for_each(|event| recorder.event(&event));
        let why = told.recv_timeout(std::time::Duration::from_secs(60)).expect("it is full");
        assert_eq!(why, format!("{path}: cannot be written: No space left on device"));
        drop(recorder);
        let said = recording.finish().expect("what came before fits");
        let mut read = Events::open(&path).expect("it is a recording");
        let mut count = 0;
        for expected in all {
            match read.next().expect("whole") {
                Some(event) => assert_eq!(event, expected),
                None => break,
            }
            count += 1;
        }
        assert!(count > 100_000, "{count}");
        assert_eq!(said, [format!("{why}; the recording ends after {count} requests")]);
        assert_eq!(requests(&path).expect("a trace").len(), count);
        assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 1);
    }

    /// An empty batch marks a recording that was cut off; handing over a full one leaves such a
    /// batch behind.
    #[test]
    fn one_that_ends_with_a_full_batch_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("live.shingle").display().to_string();
        let (mut recorder, recording) = Recording::begin(&path, &About::default()).expect("a file");
        events().iter().for_each(|event| recorder.event(event));
        (events().len()..BATCH_EVENTS).for_each(|_| recorder.event(&Event::Kept(Slot(9))));
        drop(recorder);
        assert_eq!(recording.finish().expect("written"), Vec::<String>::new());
    }

    #[test]
    fn damage_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("live.shingle").display().to_string();
        let (mut recorder, recording) = Recording::begin(&path, &About::default()).expect("a file");
        events().iter().for_each(|event| recorder.event(event));
        drop(recorder);
        recording.finish().expect("written");
        let good = std::fs::read(&path).expect("there");
        let all = |path: &str| {
            let mut events = Events::open(path)?;
            while events.next()?.is_some() {}
            requests(path)
        };
        assert!(all(&path).is_ok());
        for byte in 0..good.len() {
            let mut bad = good.clone();
            bad[byte] ^= 4;
            std::fs::write(&path, &bad).expect("written");
            assert!(all(&path).is_err(), "byte {byte} of {}", good.len());
        }
        for length in 0..good.len() {
            std::fs::write(&path, &good[..length]).expect("written");
            assert!(all(&path).is_err(), "cut to {length}");
        }
    }

    #[test]
    fn a_trace_without_events_is_no_recording() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("plain.shingle").display().to_string();
        let mut sink = crate::write::create(&path, None).expect("a file");
        let request = Request { at: Nanos(0), offset: 0, bytes: 1, op: Op::Read };
        sink.put(&[request]).expect("written");
        sink.finish().expect("written");
        let error = Events::open(&path).err().expect("refused").to_string();
        assert!(error.contains("holds no events"), "{error}");
        std::fs::write(&path, "no trace at all").expect("written");
        let error = Events::open(&path).err().expect("refused").to_string();
        assert!(error.contains("is no recording; `shingle store serve --record`"), "{error}");
    }
}
