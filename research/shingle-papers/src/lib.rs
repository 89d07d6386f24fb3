//! The experiments of the papers that shingle implements: each table and figure as data, with a
//! runner and a comparison with the published results.
//!
//! A [`experiment::Paper`] lists its figures. [`runner::reproduce`] runs them, [`verdict`] judges
//! each published statement, and [`page`] makes one self-contained HTML page of the results.

pub mod cells;
pub mod experiment;
pub mod grid;
pub mod kept;
pub mod measured;
pub mod on;
pub mod own;
pub mod page;
pub mod papers;
pub mod result;
pub mod runner;
pub mod scale;
pub mod sensitivity;
mod show;
pub mod stats;
pub mod traces;
pub mod turned;
pub mod verdict;
