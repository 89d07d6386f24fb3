//! Any bytes as the srt format; also as records below a header that is right.
#![no_main]

const HEADER: &[u8] =
    b"$$TR_IOREC-1.3\ndisks = { 0 -> { sectorsize = 256 }, 1 -> { sectorsize = 512 } };\n\x0c";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    shingle_fuzz::read(bytes, Some("srt"), Some("*"));
    shingle_fuzz::read(bytes, Some("srt:512"), None);
    shingle_fuzz::read(&[HEADER, bytes].concat(), None, Some("*"));
});
