//! Tests of the crate from outside, as one program: it is built and linked once.

mod conformance;
mod contract;
mod disk_time;
mod idle;
mod models;
mod orders;
mod orders_beneath;
mod papers;
mod roco;
mod run;
mod sac_plus;
