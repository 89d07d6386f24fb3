//! A block device from its first request to its last.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use libublk::UblkFlags;
use libublk::ctrl::{UblkCtrl, UblkCtrlBuilder};
use libublk::io::UblkDev;
use libublk::sys;
use shingle_core::units::BLOCK_BYTES;
use shingle_nbd::export::Export;
use uuid::Uuid;

use super::queue::Queue;
use super::{Number, UblkError};

/// The highest number of requests in flight.
const DEPTH: u16 = 128;
/// The longest request, in bytes.
const REQUEST_BYTES_MAX: u32 = 512 << 10;
/// The longest range that is trimmed or zeroed by one request, in bytes.
const RANGE_BYTES_MAX: u32 = 1 << 30;
/// How long to wait for the kernel to notice that a server is gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// A served block device. Dropping it removes the device.
pub struct Device {
    number: Number,
    /// The thread that serves the device until it is removed.
    serving: Option<JoinHandle<()>>,
    /// Set when this process is about to remove it.
    leaving: Arc<AtomicBool>,
}

impl Device {
    /// Checks whether the device could be made for the cache `uuid`. Nothing is changed, except
    /// that a leftover device of this cache that never started is removed.
    ///
    /// # Errors
    /// If there is no driver, or the number belongs to another device.
    pub fn check(number: Number, uuid: Uuid) -> Result<(), UblkError> {
        is_left_behind(number, uuid).map(drop)
    }

    /// Makes `export`, of the cache `uuid`, a block device, or takes over the one that a killed
    /// server of it has left. Offsets and lengths are multiples of `minimum_block` bytes, and of
    /// 512 bytes. `gone` is called if another process removes the device, or its thread fails.
    ///
    /// # Errors
    /// If there is no driver, the number belongs to another device, or the driver refuses, most
    /// often because the process lacks CAP_SYS_ADMIN.
    pub fn start(
        number: Number,
        uuid: Uuid,
        export: Arc<dyn Export>,
        minimum_block: u32,
        gone: impl FnOnce() + Send + 'static,
    ) -> Result<Device, UblkError> {
        let left = is_left_behind(number, uuid)?;
        if left {
            let failed = refused(number, "to be taken over");
            let control = UblkCtrl::new_simple(number.0.cast_signed()).map_err(failed)?;
            check(control.start_user_recover()).map_err(failed)?;
        }
        let (to, started) = channel();
        let leaving = Arc::new(AtomicBool::new(false));
        let is_leaving = leaving.clone();
        let thread = thread::Builder::new().name(format!("ublk-{}", number.0));
        let spawned = thread.spawn(move || {
            let to_failed = to.clone();
            match serve(number, owner(uuid), &export, minimum_block, left, to) {
                Ok(()) if is_leaving.load(Ordering::Acquire) => (),
                Ok(()) => gone(),
                // The caller waits for this.
                Err(error) => drop(to_failed.send(Err(error))),
            }
        });
        let serving = spawned.map_err(|error| UblkError::Driver {
            number,
            doing: "to begin a thread",
            error: error.to_string(),
        })?;
        let failed = |_| UblkError::Driver {
            number,
            doing: "to begin",
            error: "its thread has ended".to_owned(),
        };
        started.recv().map_err(failed)??;
        Ok(Device { number, serving: Some(serving), leaving })
    }

    /// Removes the device, after the kernel's cache of it is written. Its users get errors from
    /// then on.
    ///
    /// # Errors
    /// If the kernel's cache cannot be written; it is lost.
    pub fn stop(mut self) -> io::Result<()> {
        let written = File::open(self.number.path()).and_then(|device| device.sync_all());
        self.take_away();
        written
    }

    fn take_away(&mut self) {
        let Some(serving) = self.serving.take() else { return };
        self.leaving.store(true, Ordering::Release);
        // If the device is already gone, this fails, which is fine.
        if let Ok(control) = UblkCtrl::new_simple(self.number.0.cast_signed()) {
            let _ = control.kill_dev();
        }
        // A thread that has panicked serves nothing.
        let _ = serving.join();
        // A device that was taken over is not removed by its end.
        if exists(self.number)
            && let Ok(control) = UblkCtrl::new_simple(self.number.0.cast_signed())
        {
            // Likewise.
            let _ = control.del_dev_async();
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.take_away();
    }
}

fn exists(number: Number) -> bool {
    Path::new(&format!("/sys/class/ublk-char/ublkc{}", number.0)).exists()
}

/// Whether a killed server of this cache has left its device; otherwise the number is free. The
/// kernel may need a moment to notice that a server was killed.
fn is_left_behind(number: Number, uuid: Uuid) -> Result<bool, UblkError> {
    if !Path::new("/dev/ublk-control").exists() {
        return Err(UblkError::NoDriver);
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        if !exists(number) {
            return Ok(false);
        }
        let failed = refused(number, "to be asked");
        let control = UblkCtrl::new_simple(number.0.cast_signed()).map_err(failed)?;
        check(control.read_dev_info()).map_err(failed)?;
        let info = control.dev_info();
        if info.ublksrv_flags != owner(uuid) {
            return Err(UblkError::Taken(number));
        }
        match u32::from(info.state) {
            sys::UBLK_S_DEV_QUIESCED => return Ok(true),
            // Never started, or stopped and not removed.
            sys::UBLK_S_DEV_DEAD => {
                check(control.del_dev()).map_err(refused(number, "to be removed"))?;
            }
            _ if Instant::now() > deadline => {
                return Err(UblkError::Served { number, pid: info.ublksrv_pid });
            }
            _ => thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Serves until the device is removed.
fn serve(
    number: Number,
    owner: u64,
    export: &Arc<dyn Export>,
    minimum_block: u32,
    left: bool,
    started: Sender<Result<(), UblkError>>,
) -> Result<(), UblkError> {
    let failed = refused(number, "to be made");
    let how = if left { UblkFlags::UBLK_DEV_F_RECOVER_DEV } else { UblkFlags::UBLK_DEV_F_ADD_DEV };
    let control = UblkCtrlBuilder::default()
        .name("shingle")
        .id(number.0.cast_signed())
        .nr_queues(1)
        .depth(DEPTH)
        .io_buf_bytes(REQUEST_BYTES_MAX)
        .ctrl_flags(u64::from(sys::UBLK_F_USER_RECOVERY | sys::UBLK_F_USER_RECOVERY_REISSUE))
        .ctrl_target_flags(owner)
        .dev_flags(how)
        .build()
        .map_err(failed)?;
    let logical = minimum_block.max(512);
    let bytes = export.size_bytes() / u64::from(logical) * u64::from(logical);
    let parameters = move |device: &mut UblkDev| {
        set_parameters(device, bytes, logical);
        Ok(())
    };
    let served = export.clone();
    let to_failed = started.clone();
    let queue = move |id: u16, device: &UblkDev| {
        if let Err(error) = Queue::serve(id, device, &served) {
            // The start fails, too, with less information.
            let _ = to_failed.send(Err(refused(number, "to begin a queue")(error)));
        }
    };
    let begun = move |_: &UblkCtrl| {
        // The caller waits for this.
        let _ = started.send(Ok(()));
    };
    check(control.run_target(parameters, queue, begun)).map_err(failed)?;
    Ok(())
}

fn set_parameters(device: &mut UblkDev, bytes: u64, logical: u32) {
    device.set_default_params(bytes);
    let parameters = &mut device.tgt.params;
    parameters.basic.attrs =
        sys::UBLK_ATTR_VOLATILE_CACHE | sys::UBLK_ATTR_FUA | sys::UBLK_ATTR_ROTATIONAL;
    parameters.basic.logical_bs_shift = logical.ilog2() as u8;
    parameters.types |= sys::UBLK_PARAM_TYPE_DISCARD;
    parameters.discard = sys::ublk_param_discard {
        discard_alignment: 0,
        discard_granularity: BLOCK_BYTES as u32,
        max_discard_sectors: RANGE_BYTES_MAX >> 9,
        max_write_zeroes_sectors: RANGE_BYTES_MAX >> 9,
        max_discard_segments: 1,
        reserved0: 0,
    };
}

/// Turns an answer of the driver below 0 into an error.
fn check(answer: Result<i32, libublk::UblkError>) -> Result<(), libublk::UblkError> {
    match answer? {
        errno if errno < 0 => Err(libublk::UblkError::OtherError(errno)),
        _ => Ok(()),
    }
}

/// The error of a refusal of the driver.
fn refused(number: Number, doing: &'static str) -> impl Fn(libublk::UblkError) -> UblkError + Copy {
    move |error| {
        use libublk::UblkError as E;
        let error = match error {
            // By itself it says only that something failed.
            E::OtherError(errno) | E::UringIOError(errno) => {
                io::Error::from_raw_os_error(errno.abs()).to_string()
            }
            E::IOError(error) => error.to_string(),
            error => error.to_string(),
        };
        UblkError::Driver { number, doing, error }
    }
}

/// What the driver stores of a device's owner: as much of the cache's UUID as fits.
fn owner(uuid: Uuid) -> u64 {
    uuid.as_u64_pair().1
}
