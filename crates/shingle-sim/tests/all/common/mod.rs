//! Traces for tests that replay whole ones.

#![allow(dead_code)] // each test uses its part

use shingle_sim::experiment::{Assignment, Options, Trace};
use shingle_trace::{Mode, OpenOptions, Shape, Summary};

/// A real trace, if it is there.
pub(crate) fn real(file: &str) -> Option<Trace> {
    real_mode(file, Mode::ReadWrite)
}

/// As [`real`], only requests of `mode`.
pub(crate) fn real_mode(file: &str, mode: Mode) -> Option<Trace> {
    Some(read_mode(shingle_testbed::text(&shingle_testbed::trace(file)?), mode))
}

/// A trace or workload, all of it.
pub(crate) fn read(spec: &str) -> Trace {
    read_mode(spec, Mode::ReadWrite)
}

fn read_mode(spec: &str, mode: Mode) -> Trace {
    let options = OpenOptions { seed: 1, ..OpenOptions::default() };
    let mut opened = shingle_trace::open(spec, &options).unwrap_or_else(|error| panic!("{error}"));
    let shape = Shape { mode, ..Shape::default() };
    let requests = shape.read(opened.source.as_mut(), &mut |_| {});
    let requests = requests.unwrap_or_else(|error| panic!("{error}"));
    let summary = Summary::of(&requests);
    Trace { name: opened.name, format: None, requests, summary }
}

/// The papers' way: closed loop, every block by itself, partly written blocks count as whole.
pub(crate) fn prototypes(policies: &[&str], caches: &[&str], sets: &[(&str, &str)]) -> Options {
    let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    Options {
        policies: owned(policies),
        drives: vec!["sac-emulator".into()],
        caches: owned(caches),
        sets: sets.iter().map(|(key, value)| Assignment::new(key, value).expect("a key")).collect(),
        split: true,
        fill_partial: false,
        ..Options::default()
    }
}
