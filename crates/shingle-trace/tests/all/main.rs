//! Tests of the crate from outside, as one program: it is built and linked once.

mod binary;
mod errors;
mod formats;
mod native;
mod papers;
mod parquet;
mod real;
mod recognise;
mod robust;
mod text_formats;
mod write;
