//! Any bytes as the parquet format.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::read(bytes, Some("parquet"), None);
});
