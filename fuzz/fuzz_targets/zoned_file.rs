//! Any bytes at the head of a zoned file: as they are, and sealed.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::zoned::file(bytes);
});
