//! Any bytes as fio's log.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::read(bytes, Some("iolog"), Some("*"));
});
