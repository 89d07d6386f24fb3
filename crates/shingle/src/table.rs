//! Tables for people: one file for what each command prints, and what they share. Every figure in them is in the
//! JSON too.

mod comparison;
mod counters;
mod course;
mod curves;
mod fit;
mod grid;
mod layers;
#[cfg(feature = "papers")]
mod own;
mod plain;
#[cfg(feature = "papers")]
mod reproduction;
mod run;
mod seeds;
mod words;

pub(crate) use comparison::comparison;
pub(crate) use curves::curves;
pub(crate) use fit::wrapped;
pub(crate) use grid::{sweep, targets};
#[cfg(feature = "papers")]
pub(crate) use own::own;
pub(crate) use plain::{figure_rows, pairs, rows};
#[cfg(feature = "papers")]
pub(crate) use reproduction::{differences, on_traces, reproduction};
pub(crate) use run::run;
pub(crate) use seeds::over_seeds;
#[cfg(feature = "store")]
pub(crate) use words::heading;
