//! Reads many parts of a device one after the other.

use std::io;

use shingle_engine::buffer::{Buffer, zeroed};
use shingle_engine::format::Page;
use shingle_engine::recover::Pages;

use crate::direct::{Direct, PAGES_AT_ONCE};

/// A reader of a device, with its memory.
pub struct PageReader<'a> {
    direct: &'a Direct,
    buffers: Vec<Buffer>,
}

impl<'a> PageReader<'a> {
    pub(crate) fn of(direct: &'a Direct) -> PageReader<'a> {
        PageReader { direct, buffers: Vec::new() }
    }
}

impl Pages for PageReader<'_> {
    type Error = io::Error;

    fn read(&mut self, first: u64, out: &mut [Page]) -> io::Result<()> {
        for (first, out) in (first..).step_by(PAGES_AT_ONCE).zip(out.chunks_mut(PAGES_AT_ONCE)) {
            let buffers = of_len(&mut self.buffers, out.len());
            self.direct.read(first, buffers)?;
            copy(buffers, out);
        }
        Ok(())
    }

    fn another(&self) -> Option<Self> {
        Some(PageReader::of(self.direct))
    }
}

fn of_len(buffers: &mut Vec<Buffer>, len: usize) -> &mut [Buffer] {
    if buffers.len() < len {
        buffers.resize_with(len, zeroed);
    }
    &mut buffers[..len]
}

fn copy(buffers: &[Buffer], out: &mut [Page]) {
    out.iter_mut().zip(buffers).for_each(|(page, buffer)| *page = buffer.0);
}

#[cfg(test)]
mod tests {
    use shingle_core::units::BLOCK_BYTES;

    use super::*;
    use crate::device::Device;

    /// A device whose pages contain their number.
    fn numbered(pages: u64) -> (tempfile::NamedTempFile, Device) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(pages * BLOCK_BYTES).expect("its size");
        let device = Device::open(file.path()).expect("opened");
        for page in 0..pages {
            device.write(page, &page_of(page)).expect("written");
        }
        (file, device)
    }

    fn page_of(number: u64) -> Page {
        let mut page = [0; BLOCK_BYTES as usize];
        page[..8].copy_from_slice(&number.to_le_bytes());
        page
    }

    fn read(reader: &mut PageReader<'_>, first: u64, count: usize) -> io::Result<Vec<Page>> {
        let mut out = vec![[0xAA; BLOCK_BYTES as usize]; count];
        reader.read(first, &mut out).map(|()| out)
    }

    fn pages_of(first: u64, count: u64) -> Vec<Page> {
        (first..first + count).map(page_of).collect()
    }

    #[test]
    fn what_is_read_does_not_depend_on_what_was_read_before() {
        let (_file, device) = numbered(700);
        let mut reader = device.reader();
        assert_eq!(read(&mut reader, 5, 600).expect("read"), pages_of(5, 600));
        let mut another = reader.another().expect("as many as are wanted");
        for reader in [&mut reader, &mut another] {
            assert_eq!(read(reader, 40, 10).expect("read"), pages_of(40, 10));
            assert!(read(reader, 698, 4).is_err(), "there are 700 pages");
            assert_eq!(read(reader, 698, 2).expect("read"), pages_of(698, 2));
        }
    }
}
