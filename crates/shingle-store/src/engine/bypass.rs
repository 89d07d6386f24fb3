//! Round the cache: the disk serves the client.
//!
//! A block is written there only when it is not cached, and when the SSD, as it would be found after a
//! crash, does not hold it either: otherwise something older could come back later.

use super::bugs::Bug;
use super::command::Errno;
use super::io::{Device, Failed, Kind, Then};
use super::lookup::Stage;
use super::{Engine, OpKey};
use crate::buffer::Buffer;

impl Engine {
    /// The block is not cached and does not enter.
    pub(super) fn bypass(&mut self, key: OpKey) {
        let op = &self.ops[key];
        if op.write && !op.partial() {
            let mut buffer = self.pool.take();
            self.merge(key, &mut buffer);
            self.ops[key].buffer = Some(buffer);
            self.ops[key].stage = Stage::Bypass;
            self.bypass_write(key);
        } else {
            self.read_page(Device::Disk, op.block.0, Then::DiskRead(key));
        }
    }

    /// Its data waits; once the SSD has nothing of the block it goes to the disk.
    pub(super) fn bypass_write(&mut self, key: OpKey) {
        let block = self.ops[key].block;
        if self.gone.is_some() {
            if !self.may_go_round(key) {
                return;
            }
        } else if let number = self.frames.unsaid(block)
            && number > self.commits.committed()
            && !self.bug(Bug::BypassBeforeGivenUp)
        {
            return self.commits.wait(number, key);
        }
        let buffer = self.ops[key].buffer.take().expect("it waits with its data");
        self.disk.will_write(block);
        self.ios.push(Device::Disk, Kind::Write, block.0, buffer, Then::DiskWritten(key));
    }

    /// The disk has taken a block for a client, or not.
    pub(super) fn disk_written(&mut self, key: OpKey, result: Result<(), Failed>, buffer: Buffer) {
        self.pool.give(buffer);
        let block = self.ops[key].block;
        self.disk.wrote(block);
        if result.is_err() {
            self.errors.disk_write_failed();
            return self.fail(key, Errno::IO);
        }
        self.errors.status.bypassed_blocks += 1;
        self.finish(key);
    }
}
