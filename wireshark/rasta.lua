-- Wireshark dissector for RaSTA (DIN VDE V 0831-200 as publicly documented), over UDP and TCP.
--
-- Both layers are read. Check codes b to e and MD4, the standard's codes, are computed here; BLAKE2b and SipHash, which
-- librasta offers beside it, are shown and not checked. Codes are configured in RaSTA, so they are preferences here.

local rasta = Proto("rasta", "RaSTA")

local FRAME_HEADER, MESSAGE_HEADER = 8, 28
local CHECK_CODES = { [0] = 0, 4, 4, 2, 2 }

rasta.prefs.ports = Pref.range("UDP and TCP ports", "8888-8891", "Ports with RaSTA on them", 65535)
rasta.prefs.check_code = Pref.enum("Check code", 0, "Option of the redundancy layer", {
  { 1, "a: none", 0 }, { 2, "b: CRC-32 EE5B42FD", 1 }, { 3, "c: CRC-32C", 2 },
  { 4, "d: CRC-16 1021", 3 }, { 5, "e: CRC-16 8005", 4 },
}, false)
rasta.prefs.safety_bytes = Pref.enum("Safety code", 8, "Octets of the safety code", {
  { 1, "none", 0 }, { 2, "half (8 octets)", 8 }, { 3, "full (16 octets)", 16 },
}, false)
rasta.prefs.md4 = Pref.bool("Check MD4", true, "The safety code is MD4: compute it")
rasta.prefs.md4_initial_value = Pref.string("MD4 initial value", "67452301,efcdab89,98badcfe,10325476",
  "The words A, B, C, D in hexadecimal")

-- Fields -------------------------------------------------------------------------------------------------------

local KIND = {
  [6200] = "ConnReq", [6201] = "ConnResp", [6212] = "RetrReq", [6213] = "RetrResp", [6216] = "DiscReq", [6220] = "HB",
  [6240] = "Data", [6241] = "RetrData",
}
local REASON = {
  [0] = "user request", "not in use", "unexpected message", "sequence number error", "timeout", "service not allowed",
  "protocol version error", "retransmission failed", "protocol sequence error",
}

local fields = {}
rasta.fields = {}
local function field(kind, name, label, ...)
  fields[name] = ProtoField[kind]("rasta." .. name, label, ...)
  table.insert(rasta.fields, fields[name])
end

field("uint16", "frame.length", "Frame length", base.DEC)
field("uint16", "frame.reserve", "Reserve", base.HEX)
field("uint32", "frame.sequence_number", "Frame sequence number", base.DEC)
field("bytes", "check_code", "Check code")
field("string", "check_code.status", "Check code status")
field("uint16", "length", "Message length", base.DEC)
field("uint16", "type", "Message type", base.DEC, KIND)
field("uint32", "receiver_id", "Receiver identification", base.DEC)
field("uint32", "sender_id", "Sender identification", base.DEC)
field("uint32", "sequence_number", "Sequence number (SN)", base.DEC)
field("uint32", "confirmed_sequence_number", "Confirmed sequence number (CS)", base.DEC)
field("uint32", "time_stamp", "Time stamp (TS), ms", base.DEC)
field("uint32", "confirmed_time_stamp", "Confirmed time stamp (CTS), ms", base.DEC)
field("string", "version", "Version")
field("uint16", "n_send_max", "N_sendMax", base.DEC)
field("uint16", "detail", "Detail", base.DEC)
field("uint16", "reason", "Reason", base.DEC, REASON)
field("uint16", "payload.length", "Application message length", base.DEC)
field("bytes", "payload", "Application message")
field("bytes", "safety_code", "Safety code")
field("string", "safety_code.status", "Safety code status")

local malformed = ProtoExpert.new("rasta.malformed", "Malformed", expert.group.MALFORMED, expert.severity.ERROR)
local wrong = ProtoExpert.new("rasta.wrong_code", "Wrong code", expert.group.CHECKSUM, expert.severity.ERROR)
rasta.experts = { malformed, wrong }

-- Codes --------------------------------------------------------------------------------------------------------

local band, bor, bxor, bnot = bit.band, bit.bor, bit.bxor, bit.bnot
local lshift, rshift, rol = bit.lshift, bit.rshift, bit.rol

-- A CRC, bit by bit: polynomial and start as the catalogue writes them, reflected or not.
local function crc(octets, width, polynomial, start, reflected, final)
  local value = start
  local top = lshift(1, width - 1)
  for place = 1, #octets do
    local octet = octets:byte(place)
    if reflected then
      value = bxor(value, octet)
      for _ = 1, 8 do
        local carry = band(value, 1)
        value = rshift(value, 1)
        if carry == 1 then value = bxor(value, polynomial) end
      end
    else
      value = bxor(value, lshift(octet, width - 8))
      for _ = 1, 8 do
        local carry = band(value, top)
        value = lshift(value, 1)
        if carry ~= 0 then value = bxor(value, polynomial) end
      end
    end
  end
  return bxor(value, final)
end

-- The polynomials of c to e are the reflected ones of 1EDC6F41, 1021 and 8005.
local function check_code(option, octets)
  if option == 1 then return crc(octets, 32, 0xEE5B42FD, 0, false, 0) end
  if option == 2 then return crc(octets, 32, 0x82F63B78, 0xFFFFFFFF, true, 0xFFFFFFFF) end
  if option == 3 then return crc(octets, 16, 0x8408, 0, true, 0) end
  return crc(octets, 16, 0xA001, 0, true, 0)
end

local function little_endian(value, bytes)
  local octets = {}
  for place = 1, bytes do
    octets[place] = string.char(band(rshift(value, 8 * (place - 1)), 0xFF))
  end
  return table.concat(octets)
end

local function word_at(octets, place)
  local a, b, c, d = octets:byte(place, place + 3)
  return bor(a, lshift(b, 8), lshift(c, 16), lshift(d, 24))
end

-- RFC 1320, section 3.4: what each round computes, adds, and in which order it takes words.
local ROUNDS = {
  { function(x, y, z) return bor(band(x, y), band(bnot(x), z)) end, 0, { 3, 7, 11, 19 },
    { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 } },
  { function(x, y, z) return bor(band(x, y), band(x, z), band(y, z)) end, 0x5A827999, { 3, 5, 9, 13 },
    { 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15 } },
  { bxor, 0x6ED9EBA1, { 3, 9, 11, 15 }, { 0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15 } },
}

local function md4(octets, initial_value)
  local bits = 8 * #octets
  octets = octets .. "\128" .. ("\0"):rep((55 - #octets) % 64) .. little_endian(bits, 4) .. "\0\0\0\0"
  local state = { initial_value[1], initial_value[2], initial_value[3], initial_value[4] }
  for block = 1, #octets, 64 do
    local a, b, c, d = state[1], state[2], state[3], state[4]
    for _, round in ipairs(ROUNDS) do
      for step = 1, 16 do
        local sum = a + round[1](b, c, d) + word_at(octets, block + 4 * round[4][step]) + round[2]
        a, b, c, d = d, rol(bit.tobit(sum), round[3][(step - 1) % 4 + 1]), b, c
      end
    end
    state[1], state[2] = bit.tobit(state[1] + a), bit.tobit(state[2] + b)
    state[3], state[4] = bit.tobit(state[3] + c), bit.tobit(state[4] + d)
  end
  return little_endian(state[1], 4) .. little_endian(state[2], 4) .. little_endian(state[3], 4)
    .. little_endian(state[4], 4)
end

local function initial_value()
  local words = {}
  for word in rasta.prefs.md4_initial_value:gmatch("%x+") do
    table.insert(words, bit.tobit(tonumber(word, 16)))
  end
  return #words == 4 and words or nil
end

local function show_status(tree, name, range, good)
  local item = tree:add(fields[name .. ".status"], range, good and "good" or "wrong")
  item:set_generated()
  if not good then item:add_proto_expert_info(wrong) end
end

-- Messages -----------------------------------------------------------------------------------------------------

local function show_payload(buffer, tree)
  local place = 0
  while place + 2 <= buffer:len() do
    local length = buffer(place, 2):le_uint()
    tree:add_le(fields["payload.length"], buffer(place, 2))
    if place + 2 + length > buffer:len() then break end
    if length > 0 then tree:add(fields["payload"], buffer(place + 2, length)) end
    place = place + 2 + length
  end
  if place < buffer:len() then tree:add_proto_expert_info(malformed, "The application messages do not fill the message") end
end

local function show_body(kind, body, tree)
  local length = body:len()
  if kind == 6200 or kind == 6201 then
    if length ~= 14 then return tree:add_proto_expert_info(malformed, "Parameters have 14 octets") end
    tree:add(fields["version"], body(0, 4))
    tree:add_le(fields["n_send_max"], body(4, 2))
  elseif kind == 6216 then
    if length ~= 4 then return tree:add_proto_expert_info(malformed, "Detail and reason have 4 octets") end
    tree:add_le(fields["detail"], body(0, 2))
    tree:add_le(fields["reason"], body(2, 2))
  elseif kind == 6240 or kind == 6241 then
    show_payload(body, tree)
  elseif length ~= 0 then
    tree:add_proto_expert_info(malformed, "This type has no body")
  end
end

local function show_message(buffer, pinfo, tree)
  local safety_bytes = rasta.prefs.safety_bytes
  if buffer:len() < MESSAGE_HEADER + safety_bytes then
    return tree:add_proto_expert_info(malformed, "Too short for a message")
  end
  local kind = buffer(2, 2):le_uint()
  tree:add_le(fields["length"], buffer(0, 2))
  if buffer(0, 2):le_uint() ~= buffer:len() then tree:add_proto_expert_info(malformed, "The message length is wrong") end
  tree:add_le(fields["type"], buffer(2, 2))
  tree:add_le(fields["receiver_id"], buffer(4, 4))
  tree:add_le(fields["sender_id"], buffer(8, 4))
  tree:add_le(fields["sequence_number"], buffer(12, 4))
  tree:add_le(fields["confirmed_sequence_number"], buffer(16, 4))
  tree:add_le(fields["time_stamp"], buffer(20, 4))
  tree:add_le(fields["confirmed_time_stamp"], buffer(24, 4))
  local end_of_body = buffer:len() - safety_bytes
  if not KIND[kind] then
    tree:add_proto_expert_info(malformed, "No message has this type")
  elseif end_of_body > MESSAGE_HEADER then
    show_body(kind, buffer(MESSAGE_HEADER, end_of_body - MESSAGE_HEADER), tree)
  elseif kind ~= 6212 and kind ~= 6213 and kind ~= 6220 then
    tree:add_proto_expert_info(malformed, "The body is missing")
  end
  if safety_bytes > 0 then
    local code = buffer(end_of_body, safety_bytes)
    tree:add(fields["safety_code"], code)
    local words = rasta.prefs.md4 and initial_value()
    if words then
      local expected = md4(buffer(0, end_of_body):bytes():raw(), words):sub(1, safety_bytes)
      show_status(tree, "safety_code", code, expected == code:bytes():raw())
    end
  end
  pinfo.cols.info:append((KIND[kind] or ("type " .. kind)) .. " SN=" .. buffer(12, 4):le_uint()
    .. " CS=" .. buffer(16, 4):le_uint() .. " ")
end

local function show_frame(buffer, pinfo, root)
  local tree = root:add(rasta, buffer)
  local check_bytes = CHECK_CODES[rasta.prefs.check_code]
  if buffer:len() < FRAME_HEADER + check_bytes then
    return tree:add_proto_expert_info(malformed, "Too short for a frame")
  end
  tree:add_le(fields["frame.length"], buffer(0, 2))
  if buffer(0, 2):le_uint() ~= buffer:len() then tree:add_proto_expert_info(malformed, "The frame length is wrong") end
  tree:add_le(fields["frame.reserve"], buffer(2, 2))
  tree:add_le(fields["frame.sequence_number"], buffer(4, 4))
  local end_of_message = buffer:len() - check_bytes
  if check_bytes > 0 then
    local code = buffer(end_of_message, check_bytes)
    tree:add(fields["check_code"], code)
    local expected = check_code(rasta.prefs.check_code, buffer(0, end_of_message):bytes():raw())
    show_status(tree, "check_code", code, little_endian(expected, check_bytes) == code:bytes():raw())
  end
  if end_of_message > FRAME_HEADER then
    show_message(buffer(FRAME_HEADER, end_of_message - FRAME_HEADER), pinfo, tree)
  else
    tree:add_proto_expert_info(malformed, "Too short for a message")
  end
end

-- A datagram is a frame; a stream is frames one after another, told by their lengths.
function rasta.dissector(buffer, pinfo, root)
  pinfo.cols.protocol = "RaSTA"
  pinfo.cols.info = ""
  if pinfo.port_type ~= 2 then
    show_frame(buffer(), pinfo, root)
    return buffer:len()
  end
  local function length_at(tvb, _, place)
    return math.max(tvb(place, 2):le_uint(), 2)
  end
  local function frame(tvb)
    show_frame(tvb(), pinfo, root)
    return tvb:len()
  end
  dissect_tcp_pdus(buffer, root, 2, length_at, frame)
  return buffer:len()
end

local registered
local function register()
  for _, transport in ipairs({ "udp.port", "tcp.port" }) do
    local ports = DissectorTable.get(transport)
    if registered then ports:remove(registered, rasta) end
    ports:add(rasta.prefs.ports, rasta)
  end
  registered = rasta.prefs.ports
end
rasta.prefs_changed = register
register()
