//! Reads many parts of a device one after the other, and announced parts ahead.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use shingle_engine::buffer::{Buffer, zeroed};
use shingle_engine::format::Page;
use shingle_engine::recover::Pages;

use crate::direct::{Direct, PAGES_AT_ONCE};

/// A reader of a device, with its memory.
pub struct PageReader<'a> {
    direct: &'a Direct,
    buffers: Vec<Buffer>,
    ahead: Option<Ahead>,
}

impl<'a> PageReader<'a> {
    pub(crate) fn of(direct: &'a Direct) -> PageReader<'a> {
        PageReader { direct, buffers: Vec::new(), ahead: None }
    }
}

impl Pages for PageReader<'_> {
    type Error = io::Error;

    fn read(&mut self, first: u64, out: &mut [Page]) -> io::Result<()> {
        let pages = first..first + out.len() as u64;
        if let Some(read) = self.ahead.as_mut().and_then(|ahead| ahead.take(&pages, out)) {
            return read;
        }
        for (first, out) in (first..).step_by(PAGES_AT_ONCE).zip(out.chunks_mut(PAGES_AT_ONCE)) {
            let buffers = of_len(&mut self.buffers, out.len());
            self.direct.read(first, buffers)?;
            copy(buffers, out);
        }
        Ok(())
    }

    fn read_ahead(&mut self, first: u64, count: usize) {
        // Without a thread, or another open file for it, nothing is read ahead.
        let start = || Ahead::start(self.direct.again().ok()?).ok();
        if let Some(ahead) = &mut self.ahead {
            ahead.read_ahead(first..first + count as u64);
        } else if let Some(mut ahead) = start() {
            ahead.read_ahead(first..first + count as u64);
            self.ahead = Some(ahead);
        }
    }
}

/// A part to be read, and memory for it.
type Wanted = (u64, Vec<Buffer>);

/// A thread that reads announced parts, in order.
struct Ahead {
    /// `None` when the thread is to end.
    to: Option<Sender<Wanted>>,
    from: Receiver<(io::Result<()>, Vec<Buffer>)>,
    announced: VecDeque<Range<u64>>,
    spare: Vec<Vec<Buffer>>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    fn start(direct: Direct) -> io::Result<Ahead> {
        let (to, wanted) = channel::<Wanted>();
        let (done, from) = channel();
        let read = move || {
            for (first, mut buffers) in wanted {
                let result = direct.read(first, &mut buffers);
                if done.send((result, buffers)).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("shingle-read".to_owned()).spawn(read)?;
        let (announced, spare) = (VecDeque::new(), Vec::new());
        Ok(Ahead { to: Some(to), from, announced, spare, thread: Some(thread) })
    }

    fn read_ahead(&mut self, pages: Range<u64>) {
        let mut buffers = self.spare.pop().unwrap_or_default();
        buffers.resize_with((pages.end - pages.start) as usize, zeroed);
        let to = self.to.as_ref().expect("it ends when it is dropped");
        if to.send((pages.start, buffers)).is_ok() {
            self.announced.push_back(pages);
        }
    }

    /// Returns what was read of these pages, if they were announced. Parts that were announced
    /// before them are dropped.
    fn take(&mut self, pages: &Range<u64>, out: &mut [Page]) -> Option<io::Result<()>> {
        let place = self.announced.iter().position(|announced| announced == pages)?;
        for _ in 0..place {
            // Errors of dropped parts do not matter.
            let _ = self.next()?;
        }
        let (result, buffers) = self.next()?;
        copy(&buffers, out);
        self.spare.push(buffers);
        Some(result)
    }

    fn next(&mut self) -> Option<(io::Result<()>, Vec<Buffer>)> {
        self.announced.pop_front();
        self.from.recv().ok()
    }
}

impl Drop for Ahead {
    /// The open file of the thread keeps the device locked: the next one to open it must find it
    /// free.
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            // A thread that has panicked has closed its file, too.
            let _ = thread.join();
        }
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
    fn what_is_read_does_not_depend_on_what_was_expected() {
        let (_file, device) = numbered(700);
        let mut reader = device.reader();
        // In order, with parts in between that were not announced.
        for first in [0, 300] {
            reader.read_ahead(first, 20);
        }
        assert_eq!(read(&mut reader, 0, 20).expect("read"), pages_of(0, 20));
        assert_eq!(read(&mut reader, 5, 600).expect("read"), pages_of(5, 600));
        assert_eq!(read(&mut reader, 300, 20).expect("read"), pages_of(300, 20));
        // Announced and skipped; and of another length.
        for (first, count) in [(40, 10), (60, 300), (90, 1)] {
            reader.read_ahead(first, count);
        }
        assert_eq!(read(&mut reader, 60, 300).expect("read"), pages_of(60, 300));
        assert_eq!(read(&mut reader, 40, 10).expect("read"), pages_of(40, 10));
        assert_eq!(read(&mut reader, 90, 2).expect("read"), pages_of(90, 2));
        assert_eq!(read(&mut reader, 90, 1).expect("read"), pages_of(90, 1));
    }

    #[test]
    fn an_error_comes_to_who_reads_there() {
        let (_file, device) = numbered(10);
        let mut reader = device.reader();
        reader.read_ahead(8, 4);
        reader.read_ahead(0, 4);
        assert!(read(&mut reader, 8, 4).is_err(), "there are ten pages");
        assert_eq!(read(&mut reader, 0, 4).expect("read"), pages_of(0, 4));
    }

    #[test]
    fn a_device_is_free_when_it_and_its_reader_are_gone() {
        let (file, device) = numbered(300);
        let mut reader = device.reader();
        reader.read_ahead(0, 256);
        drop(reader);
        drop(device);
        Device::open(file.path()).expect("not locked");
    }
}
