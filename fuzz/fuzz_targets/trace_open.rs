//! Any bytes, compressed or not, as whatever they look like.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::read(bytes, None, None);
});
