//! The packets that open a session, told from all others by fixed bytes of their headers: what a network needs that is
//! to lose one of them.

/// A byte of a transport header: what is there under `mask` equals `value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderByte {
    /// Place from the beginning of the transport header, in bytes.
    pub offset: u8,
    /// What is expected; no bit outside of `mask` is set.
    pub value: u8,
    /// Bits that count.
    pub mask: u8,
}

/// The packets that open a session of a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// The transport's number in the IP header.
    pub ip_protocol: u8,
    /// Place of the source port in the transport header, in bytes; the destination port follows.
    pub ports_at: u8,
    /// What the sender's request holds: TCP's and ResTP's SYN, SCTP's INIT.
    pub request: &'static [HeaderByte],
    /// What the receiver's answer holds: SYN-ACK, INIT ACK.
    pub answer: &'static [HeaderByte],
    /// What tells either of them from a packet with data that repeats its marks, and may leave at the same instant: one
    /// of these; empty where no packet does.
    pub empty: &'static [[HeaderByte; 3]],
    /// Whether the request may carry data of its own; then `empty` is asked of answers only.
    pub request_with_data: bool,
}

impl Opening {
    /// TCP (RFC 9293): SYN without and with ACK.
    pub(super) const TCP: Opening = Opening {
        ip_protocol: 6,
        ports_at: 0,
        request: &[flags(13, 0x02)],
        answer: &[flags(13, 0x12)],
        empty: &[],
        request_with_data: false,
    };

    /// SCTP (RFC 9260): a packet that begins with the chunk INIT or INIT ACK.
    pub(super) const SCTP: Opening = Opening {
        ip_protocol: 132,
        ports_at: 0,
        request: &[HeaderByte { offset: 12, value: 1, mask: 0xff }],
        answer: &[HeaderByte { offset: 12, value: 2, mask: 0xff }],
        empty: &[],
        request_with_data: false,
    };

    /// ResTP over UDP (docs/restp-spec.md, chapter 2): SYN without and with ACK, but for requests and grants of cookies,
    /// which open nothing. The ports are those of UDP, which are the inner ones too.
    pub(super) const RESTP_OVER_UDP: Opening = Opening {
        ip_protocol: 17,
        ports_at: 0,
        request: &[flags(9, 0x02), NO_COOKIE_REQUEST.moved(8)],
        answer: &[flags(9, 0x12), NO_COOKIE_REQUEST.moved(8)],
        empty: &EMPTY_OVER_UDP,
        request_with_data: false,
    };

    /// DTLS (RFC 9147, section 5.2): a datagram that begins with a handshake message in clear, ClientHello; ServerHello,
    /// HelloRetryRequest among it, or the HelloVerifyRequest of 1.2, whose numbers differ in one bit.
    pub(super) const DTLS: Opening = Opening {
        ip_protocol: 17,
        ports_at: 0,
        request: &[DTLS_HANDSHAKE, HeaderByte { offset: DTLS_MESSAGE_TYPE, value: 1, mask: 0xff }],
        answer: &[DTLS_HANDSHAKE, HeaderByte { offset: DTLS_MESSAGE_TYPE, value: 2, mask: 0xfe }],
        empty: &[],
        request_with_data: false,
    };

    /// RaSTA over UDP: connection request and connection response.
    pub(super) const RASTA_OVER_UDP: Opening = Opening {
        ip_protocol: 17,
        ports_at: 0,
        request: &RASTA_REQUEST,
        answer: &RASTA_ANSWER,
        empty: &[],
        request_with_data: false,
    };

    /// The same over raw IP, where nothing in ResTP's header tells whether data follow: with the opportunistic handshake
    /// the first data packet vanishes together with the request.
    pub(super) const RESTP_OVER_IP: Opening = Opening {
        ip_protocol: 253,
        ports_at: 8,
        request: &[flags(1, 0x02), NO_COOKIE_REQUEST],
        answer: &[flags(1, 0x12), NO_COOKIE_REQUEST],
        empty: &[],
        request_with_data: false,
    };
}

/// Behind UDP's header: the content type handshake (22), and the type of the message behind the record's header.
const DTLS_HANDSHAKE: HeaderByte = HeaderByte { offset: 8, value: 22, mask: 0xff };
const DTLS_MESSAGE_TYPE: u8 = 8 + 13;

/// Types of RaSTA's connection request and response, lowest octet first, behind a frame's header and the message's length
/// (`srtyp_sr_types.h` of SBB's stack).
const fn rasta_type(number: u16) -> [HeaderByte; 2] {
    let [low, high] = number.to_le_bytes();
    [
        HeaderByte { offset: UDP_AND_FRAME_BYTES + 2, value: low, mask: 0xff },
        HeaderByte { offset: UDP_AND_FRAME_BYTES + 3, value: high, mask: 0xff },
    ]
}
const UDP_AND_FRAME_BYTES: u8 = 8 + rasta::FRAME_HEADER_BYTES as u8;
const RASTA_REQUEST: [HeaderByte; 2] = rasta_type(rasta::Kind::ConnectionRequest as u16);
const RASTA_ANSWER: [HeaderByte; 2] = rasta_type(rasta::Kind::ConnectionResponse as u16);

/// A UDP datagram is as long as its header (8 bytes) and that of ResTP, whose lower half of the first byte counts words.
const EMPTY_OVER_UDP: [[HeaderByte; 3]; LONGEST_HEADER_WORDS + 1 - SHORTEST_HEADER_WORDS] = {
    let short = HeaderByte { offset: 4, value: 0, mask: 0xff };
    let mut found = [[short; 3]; LONGEST_HEADER_WORDS + 1 - SHORTEST_HEADER_WORDS];
    let mut place = 0;
    while place < found.len() {
        let words = (SHORTEST_HEADER_WORDS + place) as u8;
        found[place][1] = HeaderByte { offset: 5, value: 8 + 4 * words, mask: 0xff };
        found[place][2] = HeaderByte { offset: 8, value: words, mask: 0x0f };
        place += 1;
    }
    found
};
/// Words of ResTP's base header, and the most that its field HL counts (docs/restp-spec.md, chapter 2).
const SHORTEST_HEADER_WORDS: usize = 3;
const LONGEST_HEADER_WORDS: usize = 15;

/// SYN (0x02) and ACK (0x10), which stand at the same places in the flags of TCP and of ResTP.
const fn flags(offset: u8, value: u8) -> HeaderByte {
    HeaderByte { offset, value, mask: 0x12 }
}

/// ResTP's bit CKI is not set.
const NO_COOKIE_REQUEST: HeaderByte = HeaderByte { offset: 2, value: 0, mask: 0x20 };

impl HeaderByte {
    const fn moved(self, by: u8) -> Self {
        Self { offset: self.offset + by, value: self.value, mask: self.mask }
    }
}
