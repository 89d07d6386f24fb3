//! A text format, named by the first byte, and the rest of the bytes as that.
#![no_main]

const FORMATS: [&str; 11] = [
    "spc",
    "systor",
    "alibaba",
    "tencent",
    "fiu",
    "blkparse",
    "blkparse:D",
    "disksim",
    "flashsim",
    "mqsim",
    "emmc",
];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&first, text)) = bytes.split_first() else { return };
    // Letters, so that seeds can be written by hand: 'a' is the first.
    let format = FORMATS[usize::from(first.wrapping_sub(b'a')) % FORMATS.len()];
    shingle_fuzz::read(text, Some(format), None);
    // The one without volumes.
    if format != "emmc" {
        shingle_fuzz::read(text, Some(format), Some("*"));
    }
});
