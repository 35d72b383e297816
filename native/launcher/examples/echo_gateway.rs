//! Plays the egress gateway in tests: started as one, it admits whoever it is told of unless its folder holds `state/closed`, says where each
//! connection wanted to go, echoes what it sends, and answers each question with the question.
#![allow(clippy::unwrap_used)]

use caisson_wire::egress::{
    Admitted, AgentFrame, Answer, Close, Credit, GatewayFrame, Introduce, Opened, Ready, agent_frame,
    gateway_frame::Body,
};
use caisson_wire::{EGRESS_WINDOW, FrameReader, MAX_EGRESS_FRAME, encode_frame};
use std::collections::{HashMap, VecDeque};
use std::io::{Read, Write};
use std::net::IpAddr;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let at = args.iter().position(|a| a == "--folder").unwrap();
    let folder = PathBuf::from(&args[at + 1]);
    let _ = std::fs::remove_file(folder.join("agents.sock"));
    let listener = UnixListener::bind(folder.join("agents.sock")).unwrap();
    std::fs::write(folder.join("state/pid"), std::process::id().to_string()).unwrap();
    println!("ready");
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    for stream in listener.incoming() {
        let folder = folder.clone();
        std::thread::spawn(move || serve(stream.unwrap(), &folder));
    }
}

fn send(stream: &mut UnixStream, number: u32, body: Body) -> Option<()> {
    let mut bytes = Vec::new();
    encode_frame(&GatewayFrame { stream: number, body: Some(body) }, &mut bytes);
    stream.write_all(&bytes).ok()
}

fn next<M: prost::Message + Default>(stream: &mut UnixStream, reader: &mut FrameReader) -> Option<M> {
    let mut buffer = vec![0; 256 << 10];
    loop {
        if let Some(frame) = reader.next_frame().unwrap() {
            return Some(frame);
        }
        match stream.read(&mut buffer) {
            Ok(length @ 1..) => reader.push(&buffer[..length]),
            _ => return None,
        }
    }
}

/// What waits for a program that does not read.
#[derive(Default)]
struct Echo {
    credit: usize,
    waiting: VecDeque<u8>,
    closed: bool,
}

impl Echo {
    fn pump(&mut self, stream: &mut UnixStream, number: u32) -> Option<()> {
        while self.credit > 0 && !self.waiting.is_empty() {
            let length = self.waiting.len().min(self.credit).min(64 << 10);
            let data: Vec<u8> = self.waiting.drain(..length).collect();
            self.credit -= length;
            send(stream, number, Body::Data(data))?;
            send(stream, number, Body::Credit(Credit { bytes: length as u32 }))?;
        }
        if self.closed && self.waiting.is_empty() {
            send(stream, number, Body::Close(Close {}))?;
        }
        Some(())
    }
}

fn serve(mut stream: UnixStream, folder: &Path) -> Option<()> {
    let mut reader = FrameReader::new(MAX_EGRESS_FRAME);
    let introduce: Introduce = next(&mut stream, &mut reader)?;
    let admitted = !folder.join("state/closed").exists();
    let mut bytes = Vec::new();
    let message = if admitted { String::new() } else { format!("no policy of {}", introduce.sandbox) };
    encode_frame(&Admitted { admitted, message }, &mut bytes);
    stream.write_all(&bytes).ok()?;
    if !admitted {
        return None;
    }
    let mut echoes: HashMap<u32, Echo> = HashMap::new();
    loop {
        let frame: AgentFrame = next(&mut stream, &mut reader)?;
        let number = frame.stream;
        let echo = echoes.entry(number).or_default();
        match frame.body? {
            agent_frame::Body::Hello(_) => send(&mut stream, 0, Body::Ready(Ready { version: 1, connections: 200 }))?,
            agent_frame::Body::Open(open) => {
                let address = match <[u8; 4]>::try_from(open.address.as_slice()) {
                    Ok(v4) => IpAddr::from(v4),
                    Err(_) => IpAddr::from(<[u8; 16]>::try_from(open.address.as_slice()).unwrap()),
                };
                send(&mut stream, number, Body::Opened(Opened {}))?;
                let hello = format!("{} {address} {}\n", introduce.sandbox, open.port);
                echo.credit = EGRESS_WINDOW as usize;
                echo.waiting.extend(hello.into_bytes());
                echo.pump(&mut stream, number)?;
            }
            agent_frame::Body::Data(data) => {
                echo.waiting.extend(data);
                echo.pump(&mut stream, number)?;
            }
            agent_frame::Body::Close(_) => {
                echo.closed = true;
                echo.pump(&mut stream, number)?;
            }
            agent_frame::Body::Credit(credit) => {
                echo.credit += credit.bytes as usize;
                echo.pump(&mut stream, number)?;
            }
            agent_frame::Body::Query(query) => {
                send(&mut stream, 0, Body::Answer(Answer { id: query.id, message: query.message }))?;
            }
            agent_frame::Body::Reset(_) => drop(echoes.remove(&number)),
        }
    }
}
