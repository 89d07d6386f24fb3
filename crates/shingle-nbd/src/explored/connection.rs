//! One connection that stands still: where its two threads are, and what each does up to the next lock, wait or system call.

use super::client::{EXPORTS, Stage, Talker, info};
use crate::answer::{Answer, Failure};
use crate::batch::Batch;
use crate::handshake::{Encryption, Handshake, Step as Shaken};
use crate::queue::{InFlight, Queue, Ready, Replies, Room};
use crate::reading::Arrived;
use crate::requests::Request;
use crate::session::Session;

/// Where the thread that reads stands.
#[derive(Clone, Hash)]
pub(super) enum Reader {
    Shakes(Handshake<'static>),
    /// It looks for the next request.
    Looks,
    /// A request wants to enter.
    Enters(Arrived),
    /// It sleeps until there is room.
    WaitsForRoom(Arrived),
    /// A request has entered, and its payload comes.
    Pays(Arrived),
    /// It has ended; `true` if the client has said good-bye.
    Over(bool),
}

/// Where the thread that writes stands.
#[derive(Clone, Hash)]
pub(super) enum Writer {
    /// There is none before the transmission.
    None,
    Looks,
    /// It sleeps until there are replies.
    Waits,
    Sends(Vec<Ready>),
    Over,
}

/// Where a thread stands that has answered while the writer slept.
#[derive(Clone, Hash)]
pub(super) enum Answerer {
    /// It is about to send what waits, or to wake the writer.
    Looks,
    /// The lock of what is on its way is its.
    Sends(Vec<Ready>),
    /// All of that was sent, or a part, and the lock is still its.
    HasSent(bool),
}

#[derive(Clone, Hash)]
pub(super) struct Connection {
    pub(super) talker: Talker,
    /// On its way to the server, and not read.
    pub(super) sent: Vec<u8>,
    pub(super) inbox: Vec<u8>,
    pub(super) reader: Reader,
    pub(super) writer: Writer,
    pub(super) answerers: Vec<Answerer>,
    /// What one of them has left to the writer.
    rest: Vec<Ready>,
    pub(super) session: Option<Session>,
    pub(super) queue: Queue,
    /// The server has shut down the reading, or all of the connection.
    pub(super) shut: (bool, bool),
    /// The writer has met an error.
    pub(super) broken: bool,
    pub(super) gave_way: bool,
    pub(super) cut_off: bool,
    /// The export was told that it is used, and that it is not.
    pub(super) told: (bool, bool),
}

impl Connection {
    pub(super) fn new(number: u64, encryption: Encryption) -> Connection {
        let mut greeting = Vec::new();
        let handshake = Handshake::new(&*EXPORTS, &mut greeting).with(encryption);
        assert_eq!(greeting.len(), 18);
        Connection {
            talker: Talker::new(number),
            sent: Vec::new(),
            inbox: Vec::new(),
            reader: Reader::Shakes(handshake),
            writer: Writer::None,
            answerers: Vec::new(),
            rest: Vec::new(),
            session: None,
            queue: Queue::default(),
            shut: (false, false),
            broken: false,
            gave_way: false,
            cut_off: false,
            told: (false, false),
        }
    }

    /// Waits for more bytes. False at the end of the stream.
    pub(super) fn fill(&mut self) -> bool {
        let some = !self.sent.is_empty();
        self.inbox.append(&mut self.sent);
        some
    }

    /// Nothing comes any more.
    fn is_at_end(&self) -> bool {
        self.talker.hung_up || self.shut.0
    }

    pub(super) fn is_over(&self) -> bool {
        let written =
            matches!(self.writer, Writer::None | Writer::Over) && self.answerers.is_empty();
        matches!(self.reader, Reader::Over(_)) && written
    }

    pub(super) fn shake_hands(&mut self, mut handshake: Handshake<'static>) -> Reader {
        let mut out = Vec::new();
        let Ok((taken, step)) = handshake.step(&self.inbox, &mut out) else {
            return Reader::Over(false);
        };
        let first = self.inbox.first_chunk::<12>().copied();
        self.inbox.drain(..taken);
        let heard = !self.talker.hung_up && !self.shut.1;
        let by_name = first.is_some_and(|first| first[8..] == 1_u32.to_be_bytes());
        match step {
            Shaken::Serve(_) if heard && by_name => self.talker.hears_export(&out),
            _ if heard => self.talker.hears_options(&out),
            _ if !out.is_empty() => return Reader::Over(false),
            _ => {}
        }
        match step {
            Shaken::Again => Reader::Shakes(handshake),
            Shaken::More if self.fill() => Reader::Shakes(handshake),
            Shaken::StartTls => unreachable!("no scope has a certificate"),
            Shaken::More | Shaken::Close => Reader::Over(false),
            Shaken::Serve(agreement) => {
                assert_eq!(agreement, self.talker.agreement());
                self.session = Some(Session::new(info(), agreement));
                (self.writer, self.told.0) = (Writer::Looks, true);
                Reader::Looks
            }
        }
    }

    pub(super) fn is_answered(&mut self, which: InFlight, result: Result<Answer, Failure>) {
        if self.queue.push(which, result) {
            self.answerers.push(Answerer::Looks);
        }
    }

    fn wake_writer(&mut self) {
        if matches!(self.writer, Writer::Waits) {
            self.writer = Writer::Looks;
        }
    }

    fn wake_reader(&mut self) {
        if let Reader::WaitsForRoom(arrived) = &self.reader {
            self.reader = Reader::Enters(arrived.clone());
        }
    }

    pub(super) fn abandon(&mut self) {
        self.queue.abandon();
        self.wake_both();
    }

    pub(super) fn wake_both(&mut self) {
        self.wake_reader();
        self.wake_writer();
    }

    pub(super) fn has_read(&mut self) {
        self.queue.end();
        self.wake_writer();
        if self.session.is_none() {
            self.has_ended();
        }
    }

    /// As `connection::write`.
    pub(super) fn write(&mut self) {
        match std::mem::replace(&mut self.writer, Writer::Over) {
            Writer::Looks => {
                let mut ready = Vec::new();
                self.writer = match self.queue.take(&mut ready) {
                    Replies::Taken => Writer::Sends(ready),
                    Replies::NotYet => Writer::Waits,
                    Replies::NoMore => {
                        self.abandon();
                        self.shut = (true, true);
                        Writer::Over
                    }
                };
            }
            Writer::Sends(ready) => {
                let mut all = std::mem::take(&mut self.rest);
                all.extend(ready);
                if self.talker.hung_up || self.shut.1 || self.broken {
                    self.broken = true;
                    self.shut = (true, true);
                    self.abandon();
                    self.leave(&all);
                } else {
                    self.send(all);
                }
                self.writer = Writer::Looks;
            }
            Writer::None | Writer::Waits | Writer::Over => unreachable!("it does not run"),
        }
        if matches!(self.writer, Writer::Over) && matches!(self.reader, Reader::Over(_)) {
            self.has_ended();
        }
    }

    /// The client hears all of these.
    fn send(&mut self, ready: Vec<Ready>) {
        let session = self.session.expect("a transmission");
        let (mut batch, mut heard) = (Batch::default(), Vec::new());
        self.leave(&ready);
        let results: Vec<_> = ready
            .into_iter()
            .map(|(which, result)| {
                session.reply(&which.request, result.clone(), &mut batch);
                (which.request.cookie, result)
            })
            .collect();
        batch.send(&mut heard).expect("into memory");
        self.talker.hears_replies(heard, &results);
    }

    fn leave(&mut self, ready: &[Ready]) {
        let memory_bytes = ready.iter().map(|(which, _)| which.memory_bytes).sum();
        if self.queue.leave(ready.len(), memory_bytes) {
            self.wake_reader();
        }
    }

    /// As `Outbox::send_or_wake`; `at_once` if the client takes all.
    pub(super) fn answer_further(&mut self, which: usize, at_once: bool) {
        match self.answerers.remove(which) {
            Answerer::Looks => {
                let mut ready = Vec::new();
                let sent = matches!(self.writer, Writer::Sends(_)) || self.is_locked();
                if !sent && self.queue.take_last(2, &mut ready) {
                    self.answerers.push(Answerer::Sends(ready));
                } else {
                    self.wake_writer();
                }
            }
            Answerer::Sends(ready) => {
                self.rest.extend(ready);
                let all = at_once && !self.talker.hung_up && !self.shut.1 && !self.broken;
                if all {
                    // (The client hears of what it got a part of when it has all.)
                    let all = std::mem::take(&mut self.rest);
                    self.send(all);
                }
                self.answerers.push(Answerer::HasSent(all));
            }
            Answerer::HasSent(all) => {
                if self.queue.has_sent(all) {
                    self.wake_writer();
                }
            }
        }
    }

    /// An answerer has the lock of what is on its way.
    fn is_locked(&self) -> bool {
        self.answerers.iter().any(|one| !matches!(one, Answerer::Looks))
    }

    pub(super) fn writer_may_go_on(&self) -> bool {
        match self.writer {
            Writer::Looks => true,
            Writer::Sends(_) => !self.is_locked(),
            Writer::None | Writer::Waits | Writer::Over => false,
        }
    }

    /// Both threads are done: what was promised is kept.
    fn has_ended(&mut self) {
        assert!(!self.told.1, "it ends once");
        self.told.1 = self.told.0;
        let heard = !self.talker.hung_up && !self.broken && !self.gave_way;
        if heard && !self.cut_off && matches!(self.reader, Reader::Over(true)) {
            assert!(self.talker.waiting.is_empty(), "good-bye, and not all is answered");
        }
    }

    pub(super) fn reader_may_go_on(&self, stopping: bool) -> bool {
        let bytes = !self.sent.is_empty() || self.is_at_end();
        match &self.reader {
            Reader::Shakes(handshake) => {
                let mut handshake = handshake.clone();
                let more = handshake.step(&self.inbox, &mut Vec::new());
                bytes || !matches!(more, Ok((0, Shaken::More)))
            }
            Reader::Looks => bytes || stopping || self.inbox.len() >= Request::BYTES,
            Reader::Enters(_) => true,
            Reader::Pays(arrived) => bytes || self.inbox.len() >= arrived.payload_bytes(),
            Reader::WaitsForRoom(_) | Reader::Over(_) => false,
        }
    }

    /// Nothing that the client may expect is missing.
    pub(super) fn waits_for_nothing(&self) -> bool {
        if self.is_over() {
            return true;
        }
        let ends =
            self.is_at_end() || self.talker.stage == Stage::Over && self.talker.rest.is_empty();
        let answered = self.talker.waiting.is_empty() && self.talker.knows_of_all_options();
        let half = !self.talker.rest.is_empty();
        !ends && (answered || half && self.talker.waiting.is_empty())
    }

    pub(super) fn keeps_to(&self, room: Room) {
        let (requests, memory_bytes) = self.queue.in_use();
        assert!(requests <= room.requests, "{requests} requests are under way");
        assert!(requests <= 1 || memory_bytes <= room.memory_bytes, "{memory_bytes} bytes");
    }
}
