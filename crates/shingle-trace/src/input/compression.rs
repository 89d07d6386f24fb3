//! The compression of a file, by its first bytes, and its decompressor.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most memory that an xz file may ask for; `xz -9` asks for 65 MiB.
#[cfg(feature = "compression")]
const XZ_MEMORY_BYTES_MAX: u64 = 512 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

impl Compression {
    pub(super) fn name(self) -> &'static str {
        match self {
            Compression::None => "plain",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
        }
    }

    fn needs_c_library(self) -> bool {
        !matches!(self, Compression::None | Compression::Gzip)
    }

    pub(super) fn of(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            // A frame, or a skippable frame in front of one.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
            _ => Compression::None,
        }
    }
}

/// Returns what is wrong with containers that are recognised only to tell the user what to do.
pub(super) fn unsupported(head: &[u8]) -> Option<&'static str> {
    match head {
        [b'P', b'K', 3, 4, ..] => Some("a zip archive; unpack it: unzip -p FILE | shingle … -"),
        [b'7', b'z', 0xbc, 0xaf, ..] => {
            Some("a 7-Zip archive; unpack it: 7z x -so FILE | shingle … -")
        }
        [0x04, 0x22, 0x4d, 0x18, ..] => {
            Some("lz4-compressed; unpack it: lz4 -dc FILE | shingle … -")
        }
        [b'P', b'A', b'R', b'1', ..] if cfg!(not(feature = "parquet")) => Some(
            "a Parquet file, which this build does not read: its feature `parquet` was left out",
        ),
        _ if cfg!(not(feature = "compression")) && Compression::of(head).needs_c_library() => Some(
            "packed with zstd, bzip2 or xz, which this build does not unpack: its feature `compression` \
             was left out; unpack it: zstd -dc FILE | shingle … -",
        ),
        _ if head.get(257..262) == Some(b"ustar") => {
            Some("a tar archive; unpack it and name one of its files")
        }
        _ => None,
    }
}

/// A reader that counts the stored bytes it used.
struct Stored<R> {
    inner: R,
    used: Arc<AtomicU64>,
}

impl<R: Read> Read for Stored<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buf)?;
        self.used.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Stored<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.used.fetch_add(count as u64, Ordering::Relaxed);
        self.inner.consume(count);
    }
}

/// Decompresses `stored`, and counts the stored bytes that were needed in `used`.
pub(super) fn decompressed(
    compression: Compression,
    stored: impl Read + Send + 'static,
    used: &Arc<AtomicU64>,
) -> io::Result<Box<dyn Read + Send>> {
    let used = Arc::clone(used);
    if compression == Compression::None {
        return Ok(Box::new(Stored { inner: stored, used }));
    }
    let stored = Stored { inner: BufReader::with_capacity(64 << 10, stored), used };
    Ok(match compression {
        Compression::None => unreachable!("returned above"),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(stored)),
        #[cfg(not(feature = "compression"))]
        _ => unreachable!("refused before"),
        #[cfg(feature = "compression")]
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(stored)?),
        #[cfg(feature = "compression")]
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(stored)),
        #[cfg(feature = "compression")]
        Compression::Xz => {
            let flags = liblzma::stream::CONCATENATED;
            let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_BYTES_MAX, flags)
                .map_err(io::Error::other)?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(stored, stream))
        }
    })
}
