//! One connection in the model: where its two threads are, and what each does up to the next lock,
//! wait or system call.

use super::client::{EXPORTS, Stage, TestClient, info};
use crate::answer::{Answer, Failure};
use crate::batch::Batch;
use crate::handshake::{Encryption, Handshake, Step as Shaken};
use crate::queue::{InFlight, Queue, Ready, Replies, Room};
use crate::reading::Arrived;
use crate::requests::Request;
use crate::session::Session;

/// The state of the reading thread.
#[derive(Clone, Hash)]
pub(super) enum Reader {
    Handshaking(Handshake<'static>),
    /// It looks for the next request.
    Idle,
    /// A request waits to enter.
    Entering(Arrived),
    /// It sleeps until there is room.
    WaitingForRoom(Arrived),
    /// A request has entered, and its payload arrives.
    ReadingPayload(Arrived),
    /// It has ended; `true` if the client has sent DISC.
    Over(bool),
}

/// The state of the writing thread.
#[derive(Clone, Hash)]
pub(super) enum Writer {
    /// There is none before the transmission.
    None,
    Idle,
    /// It sleeps until there are replies.
    Sleeping,
    Sending(Vec<Ready>),
    Over,
}

/// The state of a thread that has answered while the writer slept.
#[derive(Clone, Hash)]
pub(super) enum Answerer {
    /// It is about to send the replies, or to wake the writer.
    Deciding,
    /// It holds the lock of the sender.
    Sending(Vec<Ready>),
    /// It has sent all replies, or a part, and still holds the lock.
    Sent(bool),
}

#[derive(Clone, Hash)]
pub(super) struct Connection {
    pub(super) client: TestClient,
    /// Sent to the server, and not read yet.
    pub(super) sent: Vec<u8>,
    pub(super) inbox: Vec<u8>,
    pub(super) reader: Reader,
    pub(super) writer: Writer,
    pub(super) answerers: Vec<Answerer>,
    /// The replies that one of them has left to the writer.
    rest: Vec<Ready>,
    pub(super) session: Option<Session>,
    pub(super) queue: Queue,
    /// The server has shut down the reading side, or the whole connection.
    pub(super) shut: (bool, bool),
    /// The writer has met an error.
    pub(super) broken: bool,
    pub(super) gave_way: bool,
    pub(super) cut_off: bool,
    /// The export was told that the connection opened, and that it closed.
    pub(super) told: (bool, bool),
}

impl Connection {
    pub(super) fn new(number: u64, encryption: Encryption) -> Connection {
        let mut greeting = Vec::new();
        let handshake = Handshake::new(&*EXPORTS, &mut greeting).with(encryption);
        assert_eq!(greeting.len(), 18);
        Connection {
            client: TestClient::new(number),
            sent: Vec::new(),
            inbox: Vec::new(),
            reader: Reader::Handshaking(handshake),
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

    /// Whether no more bytes will arrive.
    fn is_at_end(&self) -> bool {
        self.client.hung_up || self.shut.0
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
        let heard = !self.client.hung_up && !self.shut.1;
        let by_name = first.is_some_and(|first| first[8..] == 1_u32.to_be_bytes());
        match step {
            Shaken::Serve(_) if heard && by_name => self.client.receive_export(&out),
            _ if heard => self.client.receive_options(&out),
            _ if !out.is_empty() => return Reader::Over(false),
            _ => {}
        }
        match step {
            Shaken::Again => Reader::Handshaking(handshake),
            Shaken::More if self.fill() => Reader::Handshaking(handshake),
            Shaken::StartTls => unreachable!("no scope has a certificate"),
            Shaken::More | Shaken::Close => Reader::Over(false),
            Shaken::Serve(agreement) => {
                assert_eq!(agreement, self.client.agreement());
                self.session = Some(Session::new(info(), agreement));
                (self.writer, self.told.0) = (Writer::Idle, true);
                Reader::Idle
            }
        }
    }

    pub(super) fn is_answered(&mut self, which: InFlight, result: Result<Answer, Failure>) {
        if self.queue.push(which, result) {
            self.answerers.push(Answerer::Deciding);
        }
    }

    fn wake_writer(&mut self) {
        if matches!(self.writer, Writer::Sleeping) {
            self.writer = Writer::Idle;
        }
    }

    fn wake_reader(&mut self) {
        if let Reader::WaitingForRoom(arrived) = &self.reader {
            self.reader = Reader::Entering(arrived.clone());
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
            Writer::Idle => {
                let mut ready = Vec::new();
                self.writer = match self.queue.take(&mut ready) {
                    Replies::Taken => Writer::Sending(ready),
                    Replies::NotYet => Writer::Sleeping,
                    Replies::NoMore => {
                        self.abandon();
                        self.shut = (true, true);
                        Writer::Over
                    }
                };
            }
            Writer::Sending(ready) => {
                let mut all = std::mem::take(&mut self.rest);
                all.extend(ready);
                if self.client.hung_up || self.shut.1 || self.broken {
                    self.broken = true;
                    self.shut = (true, true);
                    self.abandon();
                    self.release(&all);
                } else {
                    self.send(all);
                }
                self.writer = Writer::Idle;
            }
            Writer::None | Writer::Sleeping | Writer::Over => unreachable!("it does not run"),
        }
        if matches!(self.writer, Writer::Over) && matches!(self.reader, Reader::Over(_)) {
            self.has_ended();
        }
    }

    /// Sends these replies to the client.
    fn send(&mut self, ready: Vec<Ready>) {
        let session = self.session.expect("a transmission");
        let (mut batch, mut heard) = (Batch::default(), Vec::new());
        self.release(&ready);
        let results: Vec<_> = ready
            .into_iter()
            .map(|(which, result)| {
                session.reply(&which.request, result.clone(), &mut batch);
                (which.request.cookie, result)
            })
            .collect();
        batch.send(&mut heard).expect("into memory");
        self.client.receive_replies(heard, &results);
    }

    fn release(&mut self, ready: &[Ready]) {
        let memory_bytes = ready.iter().map(|(which, _)| which.memory_bytes).sum();
        if self.queue.release(ready.len(), memory_bytes) {
            self.wake_reader();
        }
    }

    /// As `Outbox::send_or_wake`; `at_once` if the client takes everything.
    pub(super) fn answer_step(&mut self, which: usize, at_once: bool) {
        match self.answerers.remove(which) {
            Answerer::Deciding => {
                let mut ready = Vec::new();
                let sent = matches!(self.writer, Writer::Sending(_)) || self.is_locked();
                if !sent && self.queue.take_last(2, &mut ready) {
                    self.answerers.push(Answerer::Sending(ready));
                } else {
                    self.wake_writer();
                }
            }
            Answerer::Sending(ready) => {
                self.rest.extend(ready);
                let all = at_once && !self.client.hung_up && !self.shut.1 && !self.broken;
                if all {
                    // The client receives the whole, when the rest has been sent.
                    let all = std::mem::take(&mut self.rest);
                    self.send(all);
                }
                self.answerers.push(Answerer::Sent(all));
            }
            Answerer::Sent(all) => {
                if self.queue.has_sent(all) {
                    self.wake_writer();
                }
            }
        }
    }

    /// Whether an answering thread holds the lock of the sender.
    fn is_locked(&self) -> bool {
        self.answerers.iter().any(|one| !matches!(one, Answerer::Deciding))
    }

    pub(super) fn writer_can_step(&self) -> bool {
        match self.writer {
            Writer::Idle => true,
            Writer::Sending(_) => !self.is_locked(),
            Writer::None | Writer::Sleeping | Writer::Over => false,
        }
    }

    /// Both threads have ended: every promise was kept.
    fn has_ended(&mut self) {
        assert!(!self.told.1, "it ends once");
        self.told.1 = self.told.0;
        let heard = !self.client.hung_up && !self.broken && !self.gave_way;
        if heard && !self.cut_off && matches!(self.reader, Reader::Over(true)) {
            assert!(self.client.waiting.is_empty(), "good-bye, and not all is answered");
        }
    }

    pub(super) fn reader_can_step(&self, stopping: bool) -> bool {
        let bytes = !self.sent.is_empty() || self.is_at_end();
        match &self.reader {
            Reader::Handshaking(handshake) => {
                let mut handshake = handshake.clone();
                let more = handshake.step(&self.inbox, &mut Vec::new());
                bytes || !matches!(more, Ok((0, Shaken::More)))
            }
            Reader::Idle => bytes || stopping || self.inbox.len() >= Request::BYTES,
            Reader::Entering(_) => true,
            Reader::ReadingPayload(arrived) => bytes || self.inbox.len() >= arrived.payload_bytes(),
            Reader::WaitingForRoom(_) | Reader::Over(_) => false,
        }
    }

    /// Whether nothing is missing that the client may expect.
    pub(super) fn has_all_replies(&self) -> bool {
        if self.is_over() {
            return true;
        }
        let ends =
            self.is_at_end() || self.client.stage == Stage::Over && self.client.rest.is_empty();
        let answered = self.client.waiting.is_empty() && self.client.has_all_option_replies();
        let half = !self.client.rest.is_empty();
        !ends && (answered || half && self.client.waiting.is_empty())
    }

    pub(super) fn respects(&self, room: Room) {
        let (requests, memory_bytes) = self.queue.in_use();
        assert!(requests <= room.requests, "{requests} requests are under way");
        assert!(requests <= 1 || memory_bytes <= room.memory_bytes, "{memory_bytes} bytes");
    }
}
