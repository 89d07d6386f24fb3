//! Any bytes as a superblock: as they are, and sealed.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::pages::superblock(bytes);
});
