//! What several test programs need.

/// `struct seccomp_data` as the kernel hands it to a filter.
#[derive(Clone, Copy)]
pub struct Call {
    pub abi: u32,
    pub number: u32,
    pub arguments: [u64; 6],
}

/// What a filter says to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Errno(i32),
    Kill,
}

/// Runs one filter over one call, the way the kernel would, and gives the verdict with the number of steps.
pub fn run(filter: &[libc::sock_filter], call: &Call) -> (Verdict, usize) {
    let (mut accumulator, mut place) = (0, 0);
    for step in 1..=filter.len() {
        let libc::sock_filter { code, jt, jf, k } = filter[place];
        place += 1;
        let choose = |taken: bool| usize::from(if taken { jt } else { jf });
        match code {
            0x20 => accumulator = word(call, k),
            0x54 => accumulator &= k,
            0x05 => place += k as usize,
            0x15 => place += choose(accumulator == k),
            0x35 => place += choose(accumulator >= k),
            0x45 => place += choose(accumulator & k != 0),
            0x06 => return (verdict(k), step),
            other => {
                panic!("instruction {other:#x} at {place} is one that the kernel's allow cache does not understand")
            }
        }
    }
    panic!("the program does not end");
}

fn word(call: &Call, offset: u32) -> u32 {
    match offset {
        0 => call.number,
        4 => call.abi,
        16.. if offset % 8 == 0 => call.arguments[(offset as usize - 16) / 8] as u32,
        _ => panic!("a load from {offset}"),
    }
}

fn verdict(value: u32) -> Verdict {
    match (value & 0xFFFF_0000, value & 0xFFFF) {
        (0x7FFF_0000, 0) => Verdict::Allow,
        (0x0005_0000, errno) => Verdict::Errno(errno as i32),
        (0x8000_0000, 0) => Verdict::Kill,
        _ => panic!("an answer of {value:#x}"),
    }
}
