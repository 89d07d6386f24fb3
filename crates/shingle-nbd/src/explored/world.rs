//! The model of a server with two connections. Each step is what one thread does up to the next
//! lock, wait or system call, as `crate::connection` does it, with the decisions of [`Handshake`],
//! [`Arrival`], [`Queue`] and [`Session`].

use std::hash::{Hash, Hasher};

use shingle_testbed::explore::{Digest, Model};

use super::client::{BYTES, Message};
use super::connection::{Answerer, Connection, Reader};
use crate::answer::{Answer, Extent, Failure};
use crate::export::{Command, HOLE, ZERO};
use crate::handshake::Encryption;
use crate::queue::{Entry, InFlight, Room};
use crate::reading::Arrival;
use crate::replies::ErrorCode;
use crate::requests::Request;

/// What may happen, and how often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    pub(super) name: &'static str,
    pub(super) clients: usize,
    /// What each client has sent, with its replies, before the exploration begins.
    pub(super) prelude: &'static [Message],
    /// What clients may send, and how many messages each.
    pub(super) says: &'static [Message],
    pub(super) messages: u8,
    /// Messages may be cut.
    pub(super) cuts: bool,
    /// Clients may hang up.
    pub(super) hangs_up: bool,
    pub(super) encryption: Encryption,
    /// The limits of requests and payload bytes in flight on a connection.
    pub(super) room: Room,
    /// The export may fail.
    pub(super) fails: bool,
    /// The server may stop, and cut off the rest.
    pub(super) stops: bool,
    /// A connection may give way to a new one.
    pub(super) gives_way: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// A client sends a message: all of it, or up to a cut.
    Send {
        client: usize,
        say: usize,
        cut: usize,
    },
    /// A client sends the rest of its message.
    Rest(usize),
    HangUp(usize),
    /// The reader of a connection continues.
    Read(usize),
    /// The export answers a command.
    Answer(usize),
    /// The export answers with an error.
    Fail(usize),
    /// The writer of a connection continues.
    Write(usize),
    /// A thread that has answered, and sends in place of the writer, continues; or the client does
    /// not take everything at once.
    AnswerFurther(usize, usize),
    AnswerLater(usize, usize),
    /// The server stops.
    Stop,
    /// The remaining connections are cut off.
    CutOff,
    /// A connection gives way, if it is idle.
    GiveWay(usize),
}

/// The state of everything.
#[derive(Clone)]
pub(super) struct World {
    scope: Scope,
    connections: Vec<Connection>,
    disk: [u8; BYTES as usize],
    /// The commands of the export, with their connections.
    commands: Vec<(usize, InFlight, Command)>,
    stopping: bool,
}

impl World {
    pub(super) fn new(scope: Scope) -> World {
        let connection = |number| Connection::new(number, scope.encryption);
        let connections = (1..=scope.clients as u64).map(connection).collect();
        let (disk, commands) = ([0; BYTES as usize], Vec::new());
        let mut world = World { scope, connections, disk, commands, stopping: false };
        for at in 0..scope.clients {
            for say in scope.prelude {
                let bytes = world.connections[at].client.say(*say, 0, false);
                world.connections[at].sent.extend(bytes);
                while world.connections[at].reader_can_step(false) {
                    world.read(at);
                }
            }
            world.connections[at].client.said = 0;
        }
        world
    }

    fn execute(&mut self, command: &Command) -> Result<Answer, Failure> {
        let range = |offset: u64, length: u32| offset as usize..offset as usize + length as usize;
        match command {
            Command::Read { offset, length } => {
                return Ok(Answer::Data(self.disk[range(*offset, *length)].to_vec()));
            }
            Command::Write { offset, data, .. } => {
                self.disk[range(*offset, data.len() as u32)].copy_from_slice(data);
            }
            Command::WriteZeroes { offset, length, .. } => {
                self.disk[range(*offset, *length)].fill(0);
            }
            Command::BlockStatus { length, .. } => {
                let extent = Extent { length_bytes: (*length).into(), flags: HOLE | ZERO };
                return Ok(Answer::Status { allocation: vec![extent], dirty: vec![] });
            }
            Command::Flush | Command::Trim { .. } | Command::Cache { .. } => {}
        }
        Ok(Answer::Done)
    }

    fn answer(&mut self, at: usize, fails: bool) {
        let (connection, which, command) = self.commands.remove(at);
        let result = match fails {
            true => Err(Failure::new(ErrorCode::Io, "it fails")),
            false => self.execute(&command),
        };
        self.connections[connection].is_answered(which, result);
    }

    /// As `connection::read` and `opening::shake_hands`.
    fn read(&mut self, at: usize) {
        let World { scope, connections, commands, stopping, .. } = self;
        let one = &mut connections[at];
        let reader = std::mem::replace(&mut one.reader, Reader::Over(false));
        one.reader = match reader {
            Reader::Handshaking(handshake) => one.shake_hands(handshake),
            Reader::Idle => {
                let session = one.session.as_ref().expect("a transmission");
                match Arrival::of(session, &one.inbox) {
                    Err(_) => Reader::Over(false),
                    Ok(Arrival::Bye) => Reader::Over(true),
                    Ok(Arrival::Nothing) if *stopping || !one.fill() => Reader::Over(false),
                    Ok(Arrival::Nothing) => Reader::Idle,
                    Ok(Arrival::Request(arrived)) => {
                        one.inbox.drain(..Request::BYTES);
                        Reader::Entering(arrived)
                    }
                }
            }
            Reader::Entering(arrived) => {
                match one.queue.enter(scope.room, arrived.which.memory_bytes) {
                    Entry::Entered => Reader::ReadingPayload(arrived),
                    Entry::Abandoned => Reader::Over(false),
                    Entry::Full => {
                        one.queue.reader_waits();
                        Reader::WaitingForRoom(arrived)
                    }
                }
            }
            Reader::WaitingForRoom(_) | Reader::Over(_) => unreachable!("it does not run"),
            Reader::ReadingPayload(arrived) => {
                let bytes = arrived.payload_bytes();
                if one.inbox.len() < bytes {
                    match one.fill() {
                        true => Reader::ReadingPayload(arrived),
                        false => {
                            // The completion is dropped, or the reply is the error of the refusal.
                            let failure = Failure::new(ErrorCode::Io, "not answered");
                            let failure = arrived.refused.unwrap_or(failure);
                            one.is_answered(arrived.which, Err(failure));
                            Reader::Over(false)
                        }
                    }
                } else {
                    let payload: Vec<u8> = one.inbox.drain(..bytes).collect();
                    let session = one.session.as_ref().expect("a transmission");
                    match &arrived.refused {
                        Some(failure) => one.is_answered(arrived.which, Err(failure.clone())),
                        None => match arrived.command(session, payload) {
                            Some(command) => commands.push((at, arrived.which, command)),
                            None => one.is_answered(arrived.which, Ok(Answer::Done)),
                        },
                    }
                    Reader::Idle
                }
            }
        };
        if matches!(one.reader, Reader::Over(_)) {
            one.has_read();
        }
    }

    fn stop(&mut self) {
        self.stopping = true;
        self.connections.iter_mut().for_each(|one| one.shut.0 = true);
    }

    fn cut_off(&mut self) {
        for one in self.connections.iter_mut().filter(|one| !one.is_over()) {
            (one.shut, one.cut_off) = ((true, true), true);
            one.abandon();
        }
    }

    /// As `Connections::make_room`: a connection that the export works for is never cut off.
    fn give_way(&mut self, at: usize) {
        let one = &mut self.connections[at];
        let lacks = match &one.reader {
            Reader::ReadingPayload(arrived) => one.inbox.len() < arrived.payload_bytes(),
            _ => false,
        };
        if one.queue.abandon_idle(lacks.into()) {
            one.wake_both();
            (one.shut, one.gave_way) = ((true, true), true);
            let works = self.commands.iter().any(|(connection, ..)| *connection == at);
            assert!(!works, "the export works for a connection that gives way");
        }
    }
}

impl Model for World {
    type Step = Step;

    fn steps(&self, into: &mut Vec<Step>) {
        for (at, one) in self.connections.iter().enumerate() {
            if one.reader_can_step(self.stopping) {
                into.push(Step::Read(at));
            }
            if one.writer_can_step() {
                into.push(Step::Write(at));
            }
            for (which, answerer) in one.answerers.iter().enumerate() {
                into.push(Step::AnswerFurther(at, which));
                if matches!(answerer, Answerer::Sending(_)) {
                    into.push(Step::AnswerLater(at, which));
                }
            }
        }
        into.extend((0..self.commands.len()).map(Step::Answer));
        if self.scope.fails {
            into.extend((0..self.commands.len()).map(Step::Fail));
        }
        for (at, one) in self.connections.iter().enumerate() {
            let client = &one.client;
            // All clients that have sent nothing are equal. Clients do not send to a closed
            // connection.
            let first = at == 0 || self.connections[at - 1].client.said > 0;
            if client.hung_up || !first || one.shut.1 {
                continue;
            }
            if !client.rest.is_empty() {
                into.push(Step::Rest(at));
            } else if client.said < self.scope.messages {
                for (say, what) in self.scope.says.iter().enumerate() {
                    if what.stage() == client.stage {
                        let ways = if self.scope.cuts { client.ways(*what) } else { 1 };
                        into.extend((0..ways).map(|cut| Step::Send { client: at, say, cut }));
                    }
                }
            }
            if self.scope.hangs_up && client.said > 0 {
                into.push(Step::HangUp(at));
            }
            if self.scope.gives_way && !one.is_over() && !one.gave_way {
                into.push(Step::GiveWay(at));
            }
        }
        if self.scope.stops {
            into.push(if self.stopping { Step::CutOff } else { Step::Stop });
        }
    }

    fn branch_key(&self) -> Option<u64> {
        None
    }

    fn branches(&self, _: &mut Vec<Step>) {}

    fn after(&self, step: &Step) -> World {
        let mut world = self.clone();
        match *step {
            Step::Send { client, say, cut } => {
                let encrypts = self.scope.encryption == Encryption::Required;
                let one = &mut world.connections[client];
                let bytes = one.client.say(self.scope.says[say], cut, encrypts);
                one.sent.extend(bytes);
            }
            Step::Rest(client) => {
                let one = &mut world.connections[client];
                one.sent.append(&mut one.client.rest);
                one.client.message_sent();
            }
            Step::HangUp(client) => world.connections[client].client.hung_up = true,
            Step::Read(at) => world.read(at),
            Step::Answer(at) => world.answer(at, false),
            Step::Fail(at) => world.answer(at, true),
            Step::Write(at) => world.connections[at].write(),
            Step::AnswerFurther(at, which) => world.connections[at].answer_step(which, true),
            Step::AnswerLater(at, which) => world.connections[at].answer_step(which, false),
            Step::Stop => world.stop(),
            Step::CutOff => world.cut_off(),
            Step::GiveWay(at) => world.give_way(at),
        }
        for one in &world.connections {
            one.respects(self.scope.room);
        }
        world
    }

    fn fingerprint(&self) -> u64 {
        let World { scope: _, connections, disk, commands, stopping } = self;
        let mut digest = Digest::default();
        (connections, disk, stopping).hash(&mut digest);
        // The order of arrival decides nothing.
        digest.unordered(commands, |command, one| command.hash(one));
        digest.finish()
    }

    /// Whether nothing waits for the server.
    fn is_at_rest(&self) -> bool {
        self.connections.iter().all(Connection::has_all_replies)
    }

    fn is_calm(step: &Step) -> bool {
        matches!(step, Step::Read(_) | Step::Answer(_) | Step::Write(_) | Step::AnswerFurther(..))
    }

    fn is_time(_: &Step) -> bool {
        false
    }

    fn says(&self, step: &Step) -> String {
        match *step {
            Step::Send { say, .. } => format!("{:?}", self.scope.says[say]),
            Step::Answer(at) | Step::Fail(at) => format!("{:?}", self.commands[at].2),
            _ => String::new(),
        }
    }
}
