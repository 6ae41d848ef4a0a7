-- Wireshark dissector for ResTP (docs/restp-spec.md), over UDP and over IP protocol 253.
--
-- Everything is read as chapters 2 and 3 of the specification say: presence rules look at header bits and lengths
-- alone, so packets need no context. A packet that a receiver must drop is marked with the reason (restp.drop).

local restp = Proto("restp", "ResTP")

restp.prefs.udp_port = Pref.uint("UDP port", 61253, "Port of the UDP encapsulation (R-ENCAP-1)")
restp.prefs.check_crc = Pref.bool("Check CRCs", true, "Compute header and payload CRC where CRC is set")

-- Fields -------------------------------------------------------------------------------------------------------

local fields = {}
local function field(kind, name, label, ...)
  local made = ProtoField[kind]("restp." .. name, label, ...)
  fields[name] = made
  table.insert(restp.fields, made)
end

local ORDER = { [0] = "none", [1] = "FUL", [2] = "PAR", [3] = "streams" }
local PATH_MODE = { [0] = "single", [1] = "invalid", [2] = "standby", [3] = "spreading" }
local SCHEDULER = { [0] = "none", [1] = "FRS", [2] = "RRS", [3] = "copies" }
local CONG = { [0] = "none", [1] = "NewReno", [2] = "BIC", [3] = "CUBIC", [4] = "LIA", [5] = "BBR" }
local MPT = { [0] = "none", [1] = "MP_CAPABLE", [2] = "MP_JOIN", [3] = "priority" }
local FEC_TYPE = { [0] = "none", [1] = "basic XOR", [2] = "interleaved XOR" }

local FRAME = {
  [0x01] = "DATA", [0x11] = "DATA, FIN", [0x02] = "RESET", [0x03] = "STOP", [0x04] = "CREDIT",
  [0x05] = "STREAM_CREDIT", [0x06] = "STREAMS", [0x16] = "STREAMS, one way", [0x07] = "PRIORITY",
}

restp.fields = {}
field("uint8", "version", "Version", base.DEC, { [0] = "clear", [1] = "protected" })
field("uint16", "header_words", "Header length in words", base.DEC)
field("uint8", "flags", "Flags", base.HEX)
field("uint8", "order", "Order", base.DEC, ORDER)
field("uint8", "flow", "Flow", base.HEX, nil, 0x3F)
field("uint8", "error", "Error", base.HEX)
field("uint8", "path_mode", "Path mode", base.DEC, PATH_MODE)
field("uint8", "scheduler", "Scheduler", base.DEC, SCHEDULER)
field("uint8", "cong", "Congestion control", base.DEC, CONG)
field("uint8", "k", "Subflows (k)", base.DEC)
field("uint8", "mpt", "Multipath extension (MPT)", base.DEC, MPT)
field("bool", "corruption_echo", "Corruption echo (COR)")
field("uint16", "source_port", "Source port", base.DEC)
field("uint16", "destination_port", "Destination port", base.DEC)

-- One boolean a bit, named after it.
local BITS = {
  flags = { "CWR", "ECE", "URG", "ACK", "PSH", "RST", "SYN", "FIN" },
  flow = { [3] = "CKI", [4] = "CON", [5] = "OPT", [6] = "CXF" },
  error = { "ENC", "ARQ", "CRC", "FEC", "NAK", "SAK", "DEL" },
}
for group, names in pairs(BITS) do
  for position, name in pairs(names) do
    field("bool", group .. "." .. name:lower(), name, 8, nil, 2 ^ (8 - position))
  end
end

field("uint8", "protection.epoch", "Key epoch", base.DEC)
field("uint8", "protection.subflow", "Subflow", base.DEC)
field("uint64", "protection.packet_number", "Packet number", base.DEC)
field("uint16", "hec", "Header CRC-16", base.HEX)
field("string", "hec.status", "Header CRC-16 status")
field("uint32", "payload_crc", "Payload CRC-32C", base.HEX)
field("string", "payload_crc.status", "Payload CRC-32C status")
field("uint16", "window", "Window in packets", base.DEC)
field("bytes", "cookie", "Cookie")
field("uint8", "mp_capable.flags", "MP_CAPABLE flags", base.HEX)
field("uint64", "mp_capable.key", "Key", base.HEX)
field("bool", "subflow.backup", "Backup")
field("uint8", "subflow.address_id", "Address id", base.DEC)
field("uint32", "mp_join.token", "Receiver's token", base.HEX)
field("uint32", "mp_join.nonce", "Sender's random number", base.HEX)
field("bytes", "mp_join.mac", "Sender's HMAC")
field("uint8", "dss.flags", "Data sequence signal flags", base.HEX)
field("bool", "dss.data_fin", "DATA_FIN")
field("uint16", "dss.length", "Data-level length in packets", base.DEC)
field("uint32", "dss.data_ack", "Data ACK", base.DEC)
field("uint32", "dss.data_sequence", "Data sequence number", base.DEC)
field("uint32", "dss.subflow_sequence", "Subflow sequence number", base.DEC)
field("uint8", "fec.type", "FEC type", base.DEC, FEC_TYPE)
field("uint24", "fec.range", "FEC range", base.DEC)
field("uint32", "sequence", "Sequence number", base.DEC)
field("uint32", "acknowledgement", "Acknowledgement number", base.DEC)
field("uint32", "sack.left", "Left edge", base.DEC)
field("uint32", "sack.right", "Right edge", base.DEC)
field("uint16", "snack.offset", "Hole 1 offset", base.DEC)
field("uint16", "snack.size", "Hole 1 size", base.DEC)
field("bytes", "snack.vector", "Bit vector")
field("uint32", "snack.missing", "Missing", base.DEC)
field("bytes", "payload", "Payload")
field("bool", "stub", "Stub: stands for data that it does not bring")
field("uint16", "part.offset", "Part: offset", base.DEC)
field("uint16", "part.length", "Part: length of the whole", base.DEC)
field("uint32", "code", "Number of the application", base.DEC)
field("uint8", "frame.kind", "Frame", base.HEX, FRAME)
field("uint64", "frame.stream", "Stream", base.DEC)
field("uint64", "frame.offset", "Offset", base.DEC)
field("uint64", "frame.code", "Number of the application", base.DEC)
field("uint64", "frame.limit", "Limit", base.DEC)
field("uint64", "frame.final_length", "Final length", base.DEC)
field("uint8", "frame.urgency", "Urgency", base.DEC)
field("bool", "frame.turns", "In turns")
field("bytes", "frame.data", "Data")
field("string", "frame.fault", "Not a sequence of frames")
field("bytes", "tag", "AEAD tag")
field("string", "drop", "A receiver drops this packet")

local dropped = ProtoExpert.new("restp.dropped", "A receiver drops this packet", expert.group.MALFORMED, expert.severity.ERROR)
local corrupt = ProtoExpert.new("restp.corrupt", "Payload corrupt", expert.group.CHECKSUM, expert.severity.WARN)
restp.experts = { dropped, corrupt }

-- Checksums (R-CRC-1, R-CRC-2, R-CRC-3) ------------------------------------------------------------------------

local bxor, band, rshift, lshift = bit.bxor, bit.band, bit.rshift, bit.lshift

local CRC16, CRC32C = {}, {}
for octet = 0, 255 do
  local wide, reflected = lshift(octet, 8), octet
  for _ = 1, 8 do
    wide = band(bxor(lshift(wide, 1), band(wide, 0x8000) ~= 0 and 0x1021 or 0), 0xFFFF)
    reflected = bxor(rshift(reflected, 1), band(reflected, 1) ~= 0 and 0x82F63B78 or 0)
  end
  CRC16[octet], CRC32C[octet] = wide, reflected
end

local function crc16(octets)
  local value = 0xFFFF
  for at = 1, #octets do
    value = bxor(band(lshift(value, 8), 0xFFFF), CRC16[bxor(rshift(value, 8), octets:byte(at))])
  end
  return value
end

local function crc32c(octets)
  local value = 0xFFFFFFFF
  for at = 1, #octets do
    value = bxor(rshift(value, 8), CRC32C[band(bxor(value, octets:byte(at)), 0xFF)])
  end
  return bxor(value, 0xFFFFFFFF) % 2 ^ 32
end

local ADDRESSES = {
  { Field.new("ip.src"), Field.new("ip.dst"), 4 },
  { Field.new("ipv6.src"), Field.new("ipv6.dst"), 6 },
}

-- What precedes the header in the HEC over raw IP; of nested IP headers the innermost counts.
local function pseudo_header(protocol, size_bytes)
  local function last(extractor)
    local all = { extractor() }
    return all[#all]
  end
  for _, family in ipairs(ADDRESSES) do
    local source, destination = last(family[1]), last(family[2])
    if source then
      local addresses = source.range:raw() .. destination.range:raw()
      local high, low = math.floor(size_bytes / 256) % 256, size_bytes % 256
      if family[3] == 4 then
        return addresses .. string.char(0, protocol, high, low)
      end
      return addresses .. string.char(0, math.floor(size_bytes / 65536) % 256, high, low, 0, 0, 0, protocol)
    end
  end
  return ""
end

-- Reading ------------------------------------------------------------------------------------------------------

-- Raised with error() where a receiver drops the packet; the code names the rule that is broken.
local function drop(code, sentence)
  error({ code = code, sentence = sentence }, 0)
end

-- A cursor over the header words.
local Reader = {}
Reader.__index = Reader

-- Drops the packet unless the next `bytes` octets are in the header.
function Reader.require(self, bytes, what)
  if self.at + bytes > self.stop then
    drop("extension_cut", "The header ends inside the " .. what .. " extension")
  end
end

function Reader.take(self, bytes, what)
  self:require(bytes, what)
  local range = self.tvb(self.at, bytes)
  self.at = self.at + bytes
  return range
end

local function zeros(range, what)
  if range:bytes():tohex():find("[^0]") then
    drop("reserved_bits", "Zero bits of the " .. what .. " are set")
  end
end

-- The named bits of an octet, shown under `parent`.
local function bit_set(parent, group, range)
  local tree = parent:add(fields[group], range)
  local set, value = {}, range:uint()
  for position = 1, 8 do
    local name = BITS[group][position]
    if name then
      set[name] = band(value, 2 ^ (8 - position)) ~= 0
      tree:add(fields[group .. "." .. name:lower()], range)
    end
  end
  return set
end

local function read_base(packet, tree)
  local tvb = packet.tvb
  packet.flags = bit_set(tree, "flags", tvb(1, 1))
  packet.order = tvb(2, 1):bitfield(0, 2)
  tree:add(fields.order, tvb(2, 1), packet.order)
  packet.flow = bit_set(tree, "flow", tvb(2, 1))
  packet.error = bit_set(tree, "error", tvb(3, 1))
  packet.path_mode = tvb(4, 1):bitfield(0, 2)
  tree:add(fields.path_mode, tvb(4, 1), packet.path_mode)
  tree:add(fields.scheduler, tvb(4, 1), tvb(4, 1):bitfield(2, 2))
  packet.cong = tvb(4, 1):bitfield(4, 4)
  tree:add(fields.cong, tvb(4, 1), packet.cong)
  packet.win = tvb(5, 1):bitfield(3, 1) == 1
  tree:add(fields.k, tvb(5, 1), tvb(5, 1):bitfield(4, 4))
  packet.mpt = tvb(7, 1):bitfield(0, 2)
  tree:add(fields.mpt, tvb(7, 1), packet.mpt)
  packet.dss = tvb(7, 1):bitfield(2, 1) == 1
  packet.cor = tvb(7, 1):bitfield(3, 1) == 1
  tree:add(fields.corruption_echo, tvb(7, 1), packet.cor)
  tree:add(fields.source_port, tvb(8, 2))
  tree:add(fields.destination_port, tvb(10, 2))
end

-- R-HDR-4, and the two fields with an invalid value
local function check_base(packet)
  local tvb = packet.tvb
  local reserved = {
    { tvb(2, 1):bitfield(6, 2), "Flow field" },
    { tvb(3, 1):bitfield(7, 1), "Error field" },
    { tvb(5, 1):bitfield(0, 3), "FC field" },
    { tvb(6, 1):bitfield(0, 4), "Reserved field" },
    { tvb(7, 1):bitfield(4, 4), "second word" },
  }
  for _, entry in ipairs(reserved) do
    if entry[1] ~= 0 then drop("reserved_bits", "Zero bits of the " .. entry[2] .. " are set") end
  end
  if packet.order == 3 and not (packet.flow.CON and packet.error.ARQ) then
    drop("contradiction", "PAR and FUL together are streams, which need CON and ARQ")
  end
  if packet.path_mode == 1 then drop("contradiction", "MPM needs MP?") end
end

-- R-HDR-5, R-HDR-6, R-MPC-1, R-MPJ-1, R-MPP-1
local function check_rules(packet)
  local flags, flow, err = packet.flags, packet.flow, packet.error
  local controls = 0
  for _, name in ipairs({ "SYN", "FIN", "RST" }) do
    if flags[name] then controls = controls + 1 end
  end
  local control = controls > 0 or flags.ACK
  local multipath = packet.path_mode >= 2
  local plain_ack = flags.ACK and controls == 0 and not err.ENC
  local rules = {
    { controls > 1, "SYN, FIN and RST exclude each other" },
    { flow.CON and flow.OPT, "CON and OPT exclude each other" },
    { control and not (flow.CON or flow.OPT), "Control flags need CON or OPT" },
    {
      flow.CKI and not (flags.SYN and (flow.OPT or packet.version == 1)) and not plain_ack,
      "CKI needs SYN with OPT or in version 1, or ACK without FIN, RST and ENC",
    },
    { packet.cor and not (flags.ACK and err.CRC), "COR needs ACK and CRC" },
    { err.ENC and not err.FEC, "ENC needs FEC" },
    { err.ENC and packet.payload_bytes == 0, "ENC needs a payload" },
    { err.ENC and controls > 0, "ENC excludes SYN, FIN and RST" },
    { packet.mpt ~= 0 and not multipath, "A multipath extension needs MP?" },
    { packet.dss and not multipath, "A data sequence signal needs MP?" },
    { packet.mpt == 1 and not (flags.SYN or flags.ACK or flags.RST), "MP_CAPABLE needs SYN, ACK or RST" },
    { packet.mpt == 2 and (flags.RST or not (flags.SYN or flags.ACK)), "MP_JOIN needs SYN or ACK" },
    { packet.mpt == 3 and (flags.RST or flags.SYN or not flags.ACK), "A priority needs ACK alone" },
  }
  for _, rule in ipairs(rules) do
    if rule[1] then drop("contradiction", rule[2]) end
  end
end

-- Words of the multipath extension (R-MPC-1, R-MPJ-1, R-MPP-1).
local function multipath_words(packet)
  local flags = packet.flags
  if packet.mpt == 1 then return (flags.SYN or flags.RST) and 3 or 5 end
  if packet.mpt == 2 then return flags.SYN and (flags.ACK and 4 or 3) or 6 end
  return packet.mpt == 3 and 1 or 0
end

local function has_fec(packet)
  local err = packet.error
  return err.FEC and (packet.flags.SYN or err.ENC or (err.ARQ and packet.flags.ACK and packet.payload_bytes == 0))
end

-- 0, 1 (SEQ) or 2 (ARQ) words (R-ARQ-1, R-SEQ-1).
local function numbering_words(packet)
  local flags, err = packet.flags, packet.error
  if err.ARQ or flags.SYN or flags.ACK or flags.FIN or flags.RST then return 2 end
  local needed = err.FEC or packet.order ~= 0 or packet.cong ~= 0 or packet.dss
  return (packet.payload_bytes > 0 and needed) and 1 or 0
end

local function read_crc(packet, tree, reader)
  local word = reader:take(4, "CRC")
  tree:add(fields.hec, word(0, 2))
  zeros(word(2, 2), "CRC extension")
  if packet.body_bytes > 0 then
    packet.payload_crc = reader:take(4, "CRC")
    packet.payload_crc_covers = packet.body
  end
end

-- Whether a cookie is there: with SYN and OPT it is presented without CKI and granted with it; else CKI says so.
local function has_cookie(packet)
  if packet.flags.SYN and packet.flow.OPT then return packet.flags.ACK == packet.flow.CKI end
  return packet.flow.CKI
end

local function read_cookie(packet, tree, reader)
  if not packet.flags.SYN then
    tree:add(fields.cookie, reader:take(16, "cookie"))
    return
  end
  local after = multipath_words(packet) + (packet.dss and 3 or 0) + (has_fec(packet) and 1 or 0)
  local words = (reader.stop - reader.at) / 4 - after - numbering_words(packet)
  if words < 1 or words > 4 then drop("cookie_length", "A cookie has 1 to 4 words") end
  tree:add(fields.cookie, reader:take(words * 4, "cookie"))
end

local function read_multipath(packet, tree, reader)
  local words = multipath_words(packet)
  if words == 0 then return end
  reader:require(words * 4, "multipath")
  local first = reader:take(4, "multipath")
  zeros(first(2, 2), "multipath extension")
  if packet.mpt == 1 then
    zeros(first(1, 1), "MP_CAPABLE extension")
    if band(first(0, 1):uint(), 0x40) ~= 0 then drop("reserved_bits", "Bit B of the MP_CAPABLE extension is set") end
    tree:add(fields["mp_capable.flags"], first(0, 1))
    for _ = 1, (words - 1) / 2 do
      tree:add(fields["mp_capable.key"], reader:take(8, "multipath"))
    end
    return
  end
  if band(first(0, 1):uint(), 0xEF) ~= 0 then drop("reserved_bits", "Zero bits of the MP_JOIN extension are set") end
  tree:add(fields["subflow.backup"], first(0, 1), first(0, 1):bitfield(3, 1) == 1)
  tree:add(fields["subflow.address_id"], first(1, 1))
  if words == 3 then
    tree:add(fields["mp_join.token"], reader:take(4, "multipath"))
    tree:add(fields["mp_join.nonce"], reader:take(4, "multipath"))
  elseif words == 4 then
    tree:add(fields["mp_join.mac"], reader:take(8, "multipath"))
    tree:add(fields["mp_join.nonce"], reader:take(4, "multipath"))
  elseif words == 6 then
    tree:add(fields["mp_join.mac"], reader:take(20, "multipath"))
  end
end

local function read_dss(packet, tree, reader, beside_cookie)
  local first = reader:take(4, "data sequence signal")
  local names = { "fin", "mapped", "acked", "checked" }
  local f = {}
  for position, name in ipairs(names) do f[name] = first(0, 1):bitfield(position - 1, 1) == 1 end
  local words = (f.acked and 1 or 0) + (f.mapped and 2 or 0) + (f.checked and 1 or 0)
  reader:require(words * 4, "data sequence signal")
  if first(0, 1):bitfield(4, 4) ~= 0 then drop("reserved_bits", "Zero bits of the data sequence signal are set") end
  zeros(first(1, 1), "data sequence signal")
  local length = first(2, 2):uint()
  if (f.fin or f.checked or length > 0) and not f.mapped then
    drop("contradiction", "DATA_FIN, CRC and length need a mapping")
  end
  if f.checked and (packet.error.CRC or packet.version == 1) then
    drop("contradiction", "One check a payload is enough")
  end
  if beside_cookie and (f.acked or f.checked or not f.mapped) then
    drop("contradiction", "Beside a cookie a data sequence signal holds a mapping only")
  end
  tree:add(fields["dss.flags"], first(0, 1))
  tree:add(fields["dss.data_fin"], first(0, 1), f.fin)
  tree:add(fields["dss.length"], first(2, 2))
  -- R-MP-15
  if length > 0 and not f.fin and packet.payload_bytes == 0 then
    packet.stub = true
    tree:add(fields.stub, first(2, 2), true):set_generated()
  end
  if f.acked then tree:add(fields["dss.data_ack"], reader:take(4, "data sequence signal")) end
  if f.mapped then
    tree:add(fields["dss.data_sequence"], reader:take(4, "data sequence signal"))
    tree:add(fields["dss.subflow_sequence"], reader:take(4, "data sequence signal"))
  end
  if f.checked then
    packet.payload_crc = reader:take(4, "data sequence signal")
    packet.payload_crc_covers = packet.body
  end
end

-- R-SNACK-3: hole 1, then the zeros before the last 1.
local function add_missing(tree, acknowledgement, offset, size, vector, range)
  local first = acknowledgement + offset
  local function missing(number) tree:add(fields["snack.missing"], range, number % 2 ^ 32):set_generated() end
  for number = first, first + size - 1 do missing(number) end
  local pending, number = {}, first + size
  for at = 1, #vector do
    for position = 7, 0, -1 do
      if band(vector:byte(at), 2 ^ position) ~= 0 then
        for _, hole in ipairs(pending) do missing(hole) end
        pending = {}
      else
        table.insert(pending, number)
      end
      number = number + 1
    end
  end
end

local function read_report(packet, tree, reader, acknowledgement)
  local err, words = packet.error, math.floor((reader.stop - reader.at) / 4)
  if words == 0 then return end
  if not packet.flags.ACK or packet.flags.SYN or not (err.NAK or err.SAK) then
    drop("unclaimed_words", words .. " header words belong to no extension")
  end
  if not err.NAK then
    if words % 2 == 1 then drop("sack_length", "A SACK block has two words") end
    for _ = 1, words, 2 do
      tree:add(fields["sack.left"], reader:take(4, "SACK"))
      tree:add(fields["sack.right"], reader:take(4, "SACK"))
    end
    return
  end
  if words > 1 and not err.SAK then drop("vector_without_sak", "A bit vector needs SAK beside NAK") end
  local hole = reader:take(4, "SNACK")
  if hole(2, 2):uint() == 0 then drop("empty_hole", "A hole has at least one packet") end
  tree:add(fields["snack.offset"], hole(0, 2))
  tree:add(fields["snack.size"], hole(2, 2))
  local vector = ""
  if words > 1 then
    local range = reader:take((words - 1) * 4, "SNACK")
    tree:add(fields["snack.vector"], range)
    vector = range:raw()
  end
  add_missing(tree, acknowledgement, hole(0, 2):uint(), hole(2, 2):uint(), vector, hole)
end

local function read_extensions(packet, tree, reader)
  local acknowledgement = 0
  if packet.error.CRC and not packet.sealed then read_crc(packet, tree, reader) end
  if packet.win then
    local word = reader:take(4, "window")
    zeros(word(2, 2), "window extension")
    tree:add(fields.window, word(0, 2))
  end
  local cookie = has_cookie(packet)
  if cookie then read_cookie(packet, tree, reader) end
  read_multipath(packet, tree, reader)
  if packet.dss then read_dss(packet, tree, reader, cookie and packet.flags.SYN) end
  if has_fec(packet) then
    local word = reader:take(4, "FEC")
    tree:add(fields["fec.type"], word(0, 1))
    tree:add(fields["fec.range"], word(1, 3))
  end
  local numbers = numbering_words(packet)
  if numbers > 0 then
    local range = reader:take(4, "sequence-number")
    packet.sequence = range:uint()
    tree:add(fields.sequence, range)
  end
  if numbers == 2 then
    local range = reader:take(4, "ARQ")
    acknowledgement = range:uint()
    tree:add(fields.acknowledgement, range)
  end
  read_report(packet, tree, reader, acknowledgement)
  packet.acknowledgement = acknowledgement
end

-- R-CRC-5: nothing but the length is believed before.
local function check_hec(packet, tree, protocol)
  local at = packet.version == 1 and 20 or 12
  local crc_bytes = packet.body_bytes > 0 and 8 or 4
  if at + crc_bytes > packet.header_bytes then drop("extension_cut", "The header ends inside the CRC extension") end
  if not restp.prefs.check_crc then return end
  local header = packet.tvb:raw(0, packet.header_bytes)
  header = header:sub(1, at) .. "\0\0" .. header:sub(at + 3)
  local prefix = protocol and pseudo_header(protocol, packet.tvb:len()) or ""
  local good = crc16(prefix .. header) == packet.tvb(at, 2):uint()
  tree:add(fields["hec.status"], packet.tvb(at, 2), good and "good" or "bad"):set_generated()
  if not good then drop("header_corrupt", "The header CRC-16 does not match") end
end

local function check_payload(packet, tree)
  local status = "absent"
  if packet.payload_crc then
    tree:add(fields.payload_crc, packet.payload_crc)
    if restp.prefs.check_crc then
      local good = crc32c(packet.payload_crc_covers) == packet.payload_crc:uint()
      status = good and "good" or "corrupt"
      if not good then tree:add_proto_expert_info(corrupt) end
    end
  end
  tree:add(fields["payload_crc.status"], packet.tvb(0, 0), status):set_generated()
end

-- Payloads that are no ordinary data: parts of a packet (R-SIZE-4) and the number in an RST (R-CM-11).
local function read_payload(packet, tree)
  local at, flags = packet.header_bytes, packet.flags
  local control = flags.SYN or flags.FIN or flags.RST
  if packet.sealed then return end
  if flags.URG and packet.sequence and (packet.flow.CON or packet.flow.OPT) and not control and not packet.error.ENC and packet.payload_bytes > 4 then
    tree:add(fields["part.offset"], packet.tvb(at, 2))
    tree:add(fields["part.length"], packet.tvb(at + 2, 2))
  elseif flags.RST and packet.payload_bytes == 4 then
    tree:add(fields.code, packet.tvb(at, 4))
  end
end

-- Frames (chapter 11.1) ---------------------------------------------------------------------------------------

-- What a number of an application and the length of a stream are at most: 32 bits and 62 (R-STR-2).
local MOST_CODE, MOST_OCTETS = UInt64(0xFFFFFFFF), UInt64(0xFFFFFFFF, 0x3FFFFFFF)

-- What a frame's numbers are, in their order.
local FRAME_NUMBERS = {
  [0x01] = { "stream", "offset" }, [0x11] = { "stream", "offset" }, [0x02] = { "stream", "code", "final_length" },
  [0x03] = { "stream", "code" }, [0x04] = { "limit" }, [0x05] = { "stream", "limit" }, [0x06] = { "limit" },
  [0x16] = { "limit" }, [0x07] = { "stream" },
}

-- The range and value of the number at `at`; nothing if it is cut or not spelled the shortest way (R-STR-2).
local function frame_number(tvb, at, stop)
  if at >= stop then return nil end
  local size = 2 ^ tvb(at, 1):bitfield(0, 2)
  if at + size > stop then return nil end
  local range = tvb(at, size)
  local value = size == 8 and range:bitfield(2, 62) or UInt64(range:bitfield(2, size * 8 - 2))
  if size > 1 and value < UInt64(2 ^ (size * 4 - 2)) then return nil end
  return range, value
end

-- Shows the frame at `at` under `tree`, if it is one; returns where the next begins, or nothing.
local function read_frame(tvb, tree, at, stop)
  local kind = tvb(at, 1):uint()
  local numbers = FRAME_NUMBERS[kind]
  if not numbers then return nil end
  local shown = { { "kind", tvb(at, 1) } }
  local read = {}
  at = at + 1
  for _, name in ipairs(numbers) do
    local range, value = frame_number(tvb, at, stop)
    if not range then return nil end
    table.insert(shown, { name, range, value })
    read[name] = value
    at = at + range:len()
  end
  if read.code and read.code > MOST_CODE then return nil end
  if kind == 0x01 or kind == 0x11 then
    local range, length = frame_number(tvb, at, stop)
    if not range or at + range:len() + length:tonumber() > stop then return nil end
    if read.offset > MOST_OCTETS - length then return nil end
    at = at + range:len()
    if length:tonumber() > 0 then table.insert(shown, { "data", tvb(at, length:tonumber()) }) end
    at = at + length:tonumber()
  elseif kind == 0x07 then
    if at >= stop or tvb(at, 1):uint() > 15 then return nil end
    table.insert(shown, { "urgency", tvb(at, 1), tvb(at, 1):bitfield(4, 3) })
    table.insert(shown, { "turns", tvb(at, 1), tvb(at, 1):bitfield(7, 1) == 1 })
    at = at + 1
  end
  for _, entry in ipairs(shown) do
    local name, range, value = entry[1], entry[2], entry[3]
    if value == nil then
      tree:add(fields["frame." .. name], range)
    else
      tree:add(fields["frame." .. name], range, value)
    end
  end
  return at
end

-- The payload of a packet that carries frames: not a part, a sum, or what nobody can read.
local function read_frames(packet, tree)
  if packet.order ~= 3 or packet.sealed or packet.error.ENC or packet.payload_bytes == 0 then return end
  local flags = packet.flags
  if flags.URG or flags.SYN or flags.FIN or flags.RST or packet.flow.CKI then return end
  local at, stop = packet.header_bytes, packet.header_bytes + packet.payload_bytes
  while at and at < stop do
    local next_at = read_frame(packet.tvb, tree, at, stop)
    if not next_at then tree:add(fields["frame.fault"], packet.tvb(at, stop - at), "from here on") end
    at = next_at
  end
end

local function dissect(packet, tree, protocol)
  local tvb = packet.tvb
  if tvb:len() < 12 then drop("too_short", "A base header has 12 octets") end
  packet.version = tvb(0, 1):bitfield(0, 4)
  tree:add(fields.version, tvb(0, 1), packet.version)
  if packet.version > 1 then drop("unknown_version", "Versions 0 and 1 are known") end
  local words = tvb(6, 1):bitfield(4, 4) * 16 + tvb(0, 1):bitfield(4, 4)
  tree:add(fields.header_words, tvb(0, 1), words)
  if words < 3 then drop("header_too_small", "A header has at least 3 words") end
  packet.header_bytes = words * 4
  if packet.header_bytes > tvb:len() then drop("header_beyond_datagram", "The header is longer than the datagram") end
  packet.body_bytes = tvb:len() - packet.header_bytes
  packet.body = packet.body_bytes > 0 and tvb:raw(packet.header_bytes) or ""
  -- An AEAD takes the place of the checks (R-PROT-6).
  packet.sealed = packet.version == 1 and packet.header_bytes > 12 and tvb(12, 1):uint() > 0
  if band(tvb(3, 1):uint(), 0x20) ~= 0 and not packet.sealed then check_hec(packet, tree, protocol) end

  read_base(packet, tree)
  check_base(packet)
  local reader = setmetatable({ tvb = tvb, at = 12, stop = packet.header_bytes }, Reader)
  local tag_bytes = 0
  if packet.version == 1 then
    local range = reader:take(8, "protection")
    tree:add(fields["protection.epoch"], range(0, 1))
    tree:add(fields["protection.subflow"], range(1, 1))
    tree:add(fields["protection.packet_number"], range(2, 6))
    if range(0, 1):uint() > 0 then tag_bytes = 16 end
  end
  if packet.body_bytes < tag_bytes then drop("tag_cut", "A sealed packet ends with a tag of 16 octets") end
  packet.payload_bytes = packet.body_bytes - tag_bytes
  check_rules(packet)
  read_extensions(packet, tree, reader)
  check_payload(packet, tree)
  if packet.payload_bytes > 0 then tree:add(fields.payload, tvb(packet.header_bytes, packet.payload_bytes)) end
  read_payload(packet, tree)
  read_frames(packet, tree)
  if tag_bytes > 0 then tree:add(fields.tag, tvb(tvb:len() - tag_bytes, tag_bytes)) end
end

-- What the packet list shows: ports, flags, numbers.
local function summary(packet)
  local names = {}
  for _, name in ipairs(BITS.flags) do
    if packet.flags[name] then table.insert(names, name) end
  end
  local ports = packet.tvb(8, 2):uint() .. " → " .. packet.tvb(10, 2):uint()
  local text = ports .. " [" .. table.concat(names, ", ") .. "]"
  if packet.sequence then text = text .. " Seq=" .. packet.sequence end
  if packet.flags.ACK then text = text .. " Ack=" .. packet.acknowledgement end
  return text .. " Len=" .. packet.payload_bytes .. (packet.stub and " Stub" or "")
end

local function run(tvb, pinfo, root, protocol)
  pinfo.cols.protocol = "ResTP"
  local tree = root:add(restp, tvb())
  local packet = { tvb = tvb }
  local good, problem = pcall(dissect, packet, tree, protocol)
  if good then
    pinfo.cols.info = summary(packet)
  elseif type(problem) == "table" then
    pinfo.cols.info = "Dropped: " .. problem.sentence
    tree:add(fields.drop, tvb(0, 0), problem.code):set_generated()
    tree:add_proto_expert_info(dropped, problem.sentence)
  else
    error(problem, 0)
  end
  return tvb:len()
end

function restp.dissector(tvb, pinfo, root)
  return run(tvb, pinfo, root, nil)
end

-- Over raw IP the HEC covers a pseudo-header, so this entry knows the protocol number (R-ENCAP-2).
local raw = Proto("restp_ip", "ResTP over IP")
local IP_PROTOCOL = 253
function raw.dissector(tvb, pinfo, root)
  return run(tvb, pinfo, root, IP_PROTOCOL)
end
DissectorTable.get("ip.proto"):add(IP_PROTOCOL, raw)

local udp_ports = DissectorTable.get("udp.port")
local current_port = restp.prefs.udp_port
udp_ports:add(current_port, restp)

function restp.prefs_changed()
  if current_port ~= restp.prefs.udp_port then
    udp_ports:remove(current_port, restp)
    current_port = restp.prefs.udp_port
    udp_ports:add(current_port, restp)
  end
end
