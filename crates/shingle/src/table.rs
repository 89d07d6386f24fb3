//! Tables for people: one module for the output of each command, and shared ones. The JSON contains
//! every figure, too.

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
#[cfg(store)]
pub(crate) use fit::{PIPED_WIDTH, width, wrapped_to};
pub(crate) use grid::{sweep, targets};
#[cfg(feature = "papers")]
pub(crate) use own::own;
pub(crate) use plain::{figure_rows, pairs, rows};
#[cfg(feature = "papers")]
pub(crate) use reproduction::{differences, on_traces, reproduction};
pub(crate) use run::run;
pub(crate) use seeds::over_seeds;
#[cfg(store)]
pub(crate) use words::heading;
