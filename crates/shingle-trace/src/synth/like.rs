//! `like`: requests from a description that was fitted to a trace ([`crate::like`]).

use std::sync::Arc;

use super::parameters::{Kind, Parameter, Values};
use super::rng::Seed;
use super::workload::{Pattern, Workload};
use crate::error::Problem;
use crate::like::{Description, Like};

pub(super) const WORKLOAD: Workload = Workload {
    name: "like",
    about: "like a trace, of its description (shingle trace synth --like TRACE)",
    own: &[
        Parameter {
            name: "from",
            default: EXAMPLE,
            about: "the description, a file; example is a small mixed one",
            kind: Kind::File,
        },
        Parameter {
            name: "requests",
            default: "0",
            about: "how many requests; 0 for as many as the trace had",
            kind: Kind::Count(0, 10_000_000_000),
        },
    ],
    make,
};

const EXAMPLE: &str = "example";

fn make(values: &Values, seed: Seed) -> Result<Box<dyn Pattern>, Problem> {
    let description = match values.text("from") {
        EXAMPLE => Description::parse(include_str!("../../data/workloads/example.toml"))?,
        path => Description::open(path)
            .map_err(|error| Problem::new(error.kind, format!("{path} {}", error.message)))?,
    };
    let requests = match values.count("requests") {
        0 => description.requests(),
        requests => requests,
    };
    Ok(Box::new(Like::new(Arc::new(description), requests, seed)))
}
