//! The parts of reports: charts as SVG, the frame and style of a page that works offline, and
//! formatted numbers. The callers decide the contents of a report.

#![allow(
    // Figures for people: counts below 2^53, pixels within a picture.
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

pub mod chart;
pub mod numbers;
pub mod page;
#[cfg(feature = "png")]
pub mod png;
