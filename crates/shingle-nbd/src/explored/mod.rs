//! Explores two clients and a server: every order of short sessions, message by message and cut at
//! every kind of border, with clients that hang up in the middle, are refused, and are stopped. The
//! decisions are those of the shipped code: handshake, session, queue of replies, arrival of
//! requests. Threads and sockets are steps here ([`world`]).
//!
//! What is checked: each option and each request is answered once, with the export's result, as a
//! distrustful client accepts it. Clients do not affect each other. No thread waits forever, so
//! none is woken too late. No more is in flight than the limits allow. A client that sends DISC has
//! all replies before. A connection that the export works for does not give way. The agreement is
//! what was requested.
//!
//! Each test run explores sessions of few messages to the end. With one more message of each
//! client:
//!
//! ```text
//! SHINGLE_MESSAGES=1 SHINGLE_STATES=20000000 cargo test -p shingle-nbd --release --lib explored -- --nocapture
//! ```

mod client;
mod connection;
mod world;

use shingle_testbed::explore::{Explored, Quiet, explore, shrink};
use shingle_testbed::number;

use crate::handshake::Encryption;
use crate::queue::Room;
use client::Message::{self, *};
use client::NAME;
use world::{Scope, World};

const FLAGS: Message = Flags(true);

const PLAIN: Scope = Scope {
    name: "plain",
    clients: 2,
    prelude: &[],
    says: &[],
    messages: 3,
    cuts: false,
    hangs_up: false,
    encryption: Encryption::None,
    room: Room { requests: 8, memory_bytes: 1 << 20 },
    fails: false,
    stops: false,
    gives_way: false,
};

/// A completed handshake.
const AGREED: &[Message] = &[FLAGS, Go(NAME)];
const ALL_AGREED: &[Message] = &[FLAGS, Structured, Contexts, Go(NAME)];

/// A scope by name: the fields that differ from the plain one.
macro_rules! scopes {
    ($($name:literal: $($field:ident: $value:expr),+;)*) => {
        &[$(Scope { name: $name, $($field: $value,)+ ..PLAIN }),*]
    };
}

const SCOPES: &[Scope] = scopes! {
    "handshakes": messages: 2,
        says: &[FLAGS, Flags(false), ExportName(NAME), ExportName("none"), Go(NAME), Go("none"), Info, List,
            Structured, Contexts, StartTls, Abort, UnknownOption, NoOption];
    "handshakes-cut": clients: 1, messages: 4, cuts: true, hangs_up: true, stops: true, gives_way: true,
        says: &[FLAGS, ExportName(NAME), Go(NAME), Structured, Contexts, StartTls, Abort, Status];
    "tls-required": encryption: Encryption::Required, cuts: true, hangs_up: true, messages: 2,
        says: &[FLAGS, ExportName(NAME), Go(NAME), List, Structured, Contexts, Abort];
    "requests": prelude: AGREED, messages: 1,
        says: &[Read, ReadPast, Write, WritePast, Nothing, Zeroes, Flush, Status, UnknownCommand, Disc,
            NoRequest];
    "structured": prelude: ALL_AGREED, clients: 1, messages: 2,
        says: &[Read, WritePast, Status];
    "cut": prelude: AGREED, messages: 1, cuts: true, hangs_up: true,
        says: &[Read, Write, WritePast, Disc];
    "room": prelude: AGREED, messages: 3, clients: 1, room: Room { requests: 2, memory_bytes: 8 },
        hangs_up: true, stops: true, gives_way: true, fails: true,
        says: &[Read, Write, Disc];
    "stopped": prelude: AGREED, messages: 1, cuts: true, stops: true,
        says: &[Write, Disc];
    "whole": messages: 4,
        says: &[FLAGS, Go(NAME), Write, Disc];
};

#[test]
fn short_sessions_in_every_order() {
    let states_max = number("SHINGLE_STATES");
    let only = std::env::var("SHINGLE_SCOPE").ok();
    for scope in SCOPES.iter().filter(|scope| only.as_ref().is_none_or(|only| only == scope.name)) {
        let more = number("SHINGLE_MESSAGES").map_or(0, |number| number as u8);
        let scope = Scope { messages: scope.messages + more, ..*scope };
        let quiet = Quiet::begin();
        let explored = explore(World::new(scope), states_max.unwrap_or(1_000_000));
        let least = explored.map_err(|broken| shrink(|| World::new(scope), broken));
        drop(quiet);
        let Explored { states, steps, depth, calm_depth, untried, .. } = match least {
            Ok(explored) => explored,
            Err(broken) => panic!("{}: {}\n{:#?}", scope.name, broken.what, broken.steps),
        };
        println!(
            "{:15} {states:9} states, {steps:9} steps, {} clients, {} messages each, {depth:3} steps deep, at \
             rest after {calm_depth:3} at most, {untried} not tried",
            scope.name, scope.clients, scope.messages
        );
        assert!(untried == 0 || states_max.is_some(), "{} was explored to the end", scope.name);
    }
}
