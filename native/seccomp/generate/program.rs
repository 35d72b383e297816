//! Writes classic BPF from its end to its beginning: every jump leads forwards, so its target is known when it is made.

const LOAD_WORD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const JUMP_IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const RET_KILL_PROCESS: u32 = 0x8000_0000;
const RET_ERRNO: u32 = 0x0005_0000;
const RET_ALLOW: u32 = 0x7FFF_0000;

/// About the highest number that kernels know.
const HIGHEST_NUMBER: u32 = 470;
/// Offset of the call's number in `struct seccomp_data`.
const NUMBER: u32 = 0;
/// Offset of the ABI in `struct seccomp_data`.
const ABI: u32 = 4;

/// Offset of the low half of an argument. The kernel looks at no more of those that are tested here: they are ints, or
/// flags it cuts to 32 bits.
pub fn argument(index: u32) -> u32 {
    16 + 8 * index
}

/// One `struct sock_filter`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    pub code: u16,
    pub jt: u8,
    pub jf: u8,
    pub k: u32,
}

/// A place in the program, counted from its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct At(usize);

/// A program of which the end is written.
#[derive(Default)]
pub struct Program {
    reversed: Vec<Instruction>,
}

impl Program {
    pub fn allow(&mut self) -> At {
        self.answer(RET_ALLOW)
    }

    pub fn kill(&mut self) -> At {
        self.answer(RET_KILL_PROCESS)
    }

    pub fn errno(&mut self, errno: u16) -> At {
        self.answer(RET_ERRNO | u32::from(errno))
    }

    /// Loads a word of `struct seccomp_data` for the tests at `next`.
    pub fn load(&mut self, offset: u32, next: At) -> At {
        self.before(next, Instruction { code: LOAD_WORD, jt: 0, jf: 0, k: offset })
    }

    /// Keeps only some bits of the loaded word.
    pub fn mask(&mut self, bits: u32, next: At) -> At {
        self.before(next, Instruction { code: AND, jt: 0, jf: 0, k: bits })
    }

    pub fn equals(&mut self, value: u32, then: At, otherwise: At) -> At {
        self.branch(JUMP_IF_EQUAL, value, then, otherwise)
    }

    pub fn any_bit(&mut self, bits: u32, then: At, otherwise: At) -> At {
        self.branch(JUMP_IF_ANY_BIT, bits, then, otherwise)
    }

    pub fn one_of(&mut self, values: &[u32], then: At, otherwise: At) -> At {
        values.iter().rev().fold(otherwise, |next, &value| self.equals(value, then, next))
    }

    pub fn select(&mut self, cases: &[(u32, At)], otherwise: At) -> At {
        cases.iter().rev().fold(otherwise, |next, &(value, then)| self.equals(value, then, next))
    }

    /// A search of the loaded word in ranges, each given by its first value, sorted, the first one from 0. Numbers of
    /// wide ranges are found sooner: at each install the kernel asks for every call number once, and that is most of
    /// what an install costs.
    pub fn search(&mut self, ranges: &[(u32, At)]) -> At {
        if let [(_, only)] = ranges {
            return *only;
        }
        let (first, last) = (ranges[0].0, ranges[ranges.len() - 1].0.min(HIGHEST_NUMBER));
        let middle = first.midpoint(last);
        let split = (1..ranges.len()).min_by_key(|&place| ranges[place].0.abs_diff(middle)).unwrap_or(1);
        let (low, high) = ranges.split_at(split);
        let at_least = self.search(high);
        let below = self.search(low);
        self.branch(JUMP_IF_AT_LEAST, high[0].0, at_least, below)
    }

    /// Completes the program: foreign ABIs die, `numbers` gets the number of a native call.
    pub fn start(mut self, native: u32, numbers: At) -> Vec<Instruction> {
        let foreign = self.kill();
        let numbers = self.load(NUMBER, numbers);
        let abi = self.equals(native, numbers, foreign);
        self.load(ABI, abi);
        self.reversed.reverse();
        self.reversed
    }

    fn answer(&mut self, value: u32) -> At {
        let answer = Instruction { code: RETURN, jt: 0, jf: 0, k: value };
        match self.reversed.iter().position(|&known| known == answer) {
            Some(place) => At(place),
            None => self.push(answer),
        }
    }

    fn branch(&mut self, code: u16, k: u32, then: At, otherwise: At) -> At {
        let short = |distance| u8::try_from(distance).unwrap_or_else(|_| panic!("a jump over {distance} instructions"));
        let (jt, jf) = (short(self.distance(then)), short(self.distance(otherwise)));
        self.push(Instruction { code, jt, jf, k })
    }

    fn before(&mut self, next: At, instruction: Instruction) -> At {
        let distance = self.distance(next);
        if distance != 0 {
            self.push(Instruction { code: JUMP, jt: 0, jf: 0, k: distance as u32 });
        }
        self.push(instruction)
    }

    /// How many instructions one that is written now would jump over.
    fn distance(&self, target: At) -> usize {
        self.reversed.len() - target.0 - 1
    }

    fn push(&mut self, instruction: Instruction) -> At {
        self.reversed.push(instruction);
        At(self.reversed.len() - 1)
    }
}
