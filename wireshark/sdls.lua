-- Wireshark dissector for space data link frames over UDP: TC, TM, AOS and USLP with SDLS security headers.
--
-- A frame does not tell all about itself: which fields there are, and how long, both ends have agreed on. So each
-- protocol has a port, and preferences say the rest; associations are a list "SPI:IV:sequence:pad:MAC" of octets, as in
-- "4:12:0:0:16, 9:0:4:0:16". Without an entry for its SPI a frame's data field is shown whole. What a receiver would
-- refuse without keys is marked with the reason (sdls.refused), by the names that the crate sdls uses.

local sdls = Proto("sdls", "Space data link security")

local KIND = { [0] = "TC", [1] = "TM", [2] = "AOS", [3] = "USLP" }
local PORTS = { "tc_port", "tm_port", "aos_port", "uslp_port" }

sdls.prefs.tc_port = Pref.uint("TC port", 0, "UDP port of telecommand frames; 0 for none")
sdls.prefs.tm_port = Pref.uint("TM port", 0, "UDP port of telemetry frames; 0 for none")
sdls.prefs.aos_port = Pref.uint("AOS port", 0, "UDP port of AOS frames; 0 for none")
sdls.prefs.uslp_port = Pref.uint("USLP port", 0, "UDP port of USLP frames; 0 for none")
sdls.prefs.fecf = Pref.bool("FECF", true, "Frames end with a frame error control field")
sdls.prefs.segment = Pref.bool("Segment headers", true, "TC frames with data have a segment header")
sdls.prefs.fhec = Pref.bool("AOS header error control", false, "AOS headers have an error control field")
sdls.prefs.aos_ocf = Pref.bool("AOS OCF", false, "AOS frames have an operational control field")
sdls.prefs.insert_zone = Pref.uint("Insert zone", 0, "Octets of the insert zone of AOS and USLP")
sdls.prefs.associations = Pref.string("Associations", "", "SPI:IV:sequence:pad:MAC, octets, separated by commas")

-- Fields -------------------------------------------------------------------------------------------------------

local fields = {}
sdls.fields = {}
local function field(kind, name, label, ...)
  local made = ProtoField[kind]("sdls." .. name, label, ...)
  fields[name] = made
  table.insert(sdls.fields, made)
end

local SERVICE = { [0] = "AD", [1] = "AC (invalid)", [2] = "BD", [3] = "BC" }
local SEGMENT = { [0] = "continuing", [1] = "first", [2] = "last", [3] = "unsegmented" }

field("uint8", "kind", "Protocol", base.DEC, KIND)
field("uint8", "version", "Transfer frame version", base.DEC)
field("uint16", "spacecraft", "Spacecraft", base.DEC)
field("uint8", "channel", "Virtual channel", base.DEC)
field("uint8", "map", "Multiplexer access point", base.DEC)
field("uint8", "service", "Service", base.DEC, SERVICE)
field("uint32", "length", "Frame length in octets", base.DEC)
field("uint64", "count", "Frame count or sequence number", base.DEC)
field("uint8", "master_count", "Master channel frame count", base.DEC)
field("uint16", "first_header", "First header pointer", base.HEX)
field("uint8", "segment", "Segment", base.DEC, SEGMENT)
field("bool", "destination", "Identifies the destination")
field("bool", "truncated", "Truncated header")
field("bool", "replay", "Played back")
field("bytes", "secondary", "Secondary header")
field("uint16", "fhec", "Header error control", base.HEX)
field("bytes", "insert", "Insert zone")
field("uint16", "spi", "Security parameter index", base.DEC)
field("bytes", "iv", "Initialisation vector")
field("bytes", "sequence", "Sequence number")
field("uint16", "pad", "Pad length", base.DEC)
field("bytes", "data", "Data")
field("bytes", "mac", "Message authentication code")
field("uint32", "ocf", "Operational control field", base.HEX)
field("uint8", "clcw.channel", "CLCW virtual channel", base.DEC)
field("uint8", "clcw.report", "CLCW report value", base.DEC)
field("bool", "clcw.lockout", "CLCW lockout")
field("bool", "clcw.wait", "CLCW wait")
field("bool", "clcw.retransmit", "CLCW retransmit")
field("uint16", "fsr.spi", "FSR security parameter index", base.DEC)
field("bool", "fsr.alarm", "FSR alarm")
field("bool", "fsr.bad_sequence", "FSR bad sequence number")
field("bool", "fsr.bad_mac", "FSR bad MAC")
field("bool", "fsr.bad_association", "FSR bad association")
field("uint16", "fecf", "Frame error control", base.HEX)
field("string", "refused", "Refused")

-- Tools --------------------------------------------------------------------------------------------------------

local function crc16(buffer, length)
  local crc = 0xFFFF
  for place = 0, length - 1 do
    crc = bit.bxor(crc, bit.lshift(buffer(place, 1):uint(), 8))
    for _ = 1, 8 do
      local carry = bit.band(crc, 0x8000) ~= 0
      crc = bit.band(bit.lshift(crc, 1), 0xFFFF)
      if carry then
        crc = bit.bxor(crc, 0x1021)
      end
    end
  end
  return crc
end

local function bits(word, from, count)
  return bit.band(bit.rshift(word, from), bit.lshift(1, count) - 1)
end

-- Octets of IV, sequence number, pad length and MAC of an association; nil if it is not in the preferences.
local function association(spi)
  for entry in sdls.prefs.associations:gmatch("[^,]+") do
    local number, iv, sequence, pad, mac = entry:match("^%s*(%d+):(%d+):(%d+):(%d+):(%d+)%s*$")
    if tonumber(number) == spi then
      return tonumber(iv), tonumber(sequence), tonumber(pad), tonumber(mac)
    end
  end
end

-- Headers: each adds its fields and returns where the header ends, and whether an OCF is there; or a reason. --------

local function tc(buffer, tree)
  if buffer:len() < 5 then
    return nil, "frame-too-short"
  end
  local first, second = buffer(0, 2):uint(), buffer(2, 2):uint()
  tree:add(fields.version, buffer(0, 1), bits(first, 14, 2))
  if bits(first, 14, 2) ~= 0 then
    return nil, "frame-version"
  end
  local service = bits(first, 12, 2)
  tree:add(fields.service, buffer(0, 1), service)
  tree:add(fields.spacecraft, buffer(0, 2), bits(first, 0, 10))
  tree:add(fields.channel, buffer(2, 1), bits(second, 10, 6))
  tree:add(fields.length, buffer(2, 2), bits(second, 0, 10) + 1)
  tree:add(fields.count, buffer(4, 1), UInt64(buffer(4, 1):uint()))
  if bits(second, 0, 10) + 1 ~= buffer:len() then
    return nil, "frame-length-field"
  end
  if service == 1 or bits(first, 10, 2) ~= 0 then
    return nil, "frame-invalid"
  end
  if service == 3 or not sdls.prefs.segment then
    return 5, false, service ~= 3
  end
  if buffer:len() < 6 then
    return nil, "frame-too-short"
  end
  local segment = buffer(5, 1):uint()
  tree:add(fields.segment, buffer(5, 1), bits(segment, 6, 2))
  tree:add(fields.map, buffer(5, 1), bits(segment, 0, 6))
  return 6, false, true
end

local function tm(buffer, tree)
  if buffer:len() < 6 then
    return nil, "frame-too-short"
  end
  local first, status = buffer(0, 2):uint(), buffer(4, 2):uint()
  tree:add(fields.version, buffer(0, 1), bits(first, 14, 2))
  if bits(first, 14, 2) ~= 0 then
    return nil, "frame-version"
  end
  tree:add(fields.spacecraft, buffer(0, 2), bits(first, 4, 10))
  tree:add(fields.channel, buffer(1, 1), bits(first, 1, 3))
  tree:add(fields.master_count, buffer(2, 1))
  tree:add(fields.count, buffer(3, 1), UInt64(buffer(3, 1):uint()))
  tree:add(fields.first_header, buffer(4, 2), bits(status, 0, 11))
  local header = 6
  if bits(status, 15, 1) == 1 then
    local length = buffer:len() > 6 and bits(buffer(6, 1):uint(), 0, 6) or 0
    if buffer:len() < 7 + length then
      return nil, "frame-too-short"
    elseif length == 0 or bits(buffer(6, 1):uint(), 6, 2) ~= 0 then
      return nil, "frame-invalid"
    end
    tree:add(fields.secondary, buffer(7, length))
    header = 7 + length
  end
  return header, bits(first, 0, 1) == 1, true
end

local function aos(buffer, tree)
  if buffer:len() < 6 then
    return nil, "frame-too-short"
  end
  local first, signalling = buffer(0, 2):uint(), buffer(5, 1):uint()
  tree:add(fields.version, buffer(0, 1), bits(first, 14, 2))
  if bits(first, 14, 2) ~= 1 then
    return nil, "frame-version"
  end
  tree:add(fields.spacecraft, buffer(0, 2), bits(first, 6, 8))
  tree:add(fields.channel, buffer(1, 1), bits(first, 0, 6))
  tree:add(fields.count, buffer(2, 3), UInt64(buffer(2, 3):uint()))
  tree:add(fields.replay, buffer(5, 1), bits(signalling, 7, 1) == 1)
  local header = 6
  local zone = sdls.prefs.insert_zone
  if buffer:len() < header + (sdls.prefs.fhec and 2 or 0) + zone then
    return nil, "frame-too-short"
  end
  if sdls.prefs.fhec then
    tree:add(fields.fhec, buffer(header, 2))
    header = header + 2
  end
  if zone > 0 then
    tree:add(fields.insert, buffer(header, zone))
  end
  return header + zone, sdls.prefs.aos_ocf, true
end

local function uslp(buffer, tree)
  if buffer:len() < 4 then
    return nil, "frame-too-short"
  end
  local word = buffer(0, 4):uint()
  tree:add(fields.version, buffer(0, 1), bits(word, 28, 4))
  if bits(word, 28, 4) ~= 12 then
    return nil, "frame-version"
  end
  tree:add(fields.spacecraft, buffer(0, 3), bits(word, 12, 16))
  tree:add(fields.destination, buffer(2, 1), bits(word, 11, 1) == 1)
  tree:add(fields.channel, buffer(2, 2), bits(word, 5, 6))
  tree:add(fields.map, buffer(3, 1), bits(word, 1, 4))
  tree:add(fields.truncated, buffer(3, 1), bits(word, 0, 1) == 1)
  if bits(word, 0, 1) == 1 then
    return 4, false, false
  end
  if buffer:len() < 7 then
    return nil, "frame-too-short"
  end
  tree:add(fields.length, buffer(4, 2), buffer(4, 2):uint() + 1)
  if buffer(4, 2):uint() + 1 ~= buffer:len() then
    return nil, "frame-length-field"
  end
  local flags = buffer(6, 1):uint()
  if bits(flags, 4, 2) ~= 0 then
    return nil, "frame-invalid"
  end
  local octets, zone = bits(flags, 0, 3), sdls.prefs.insert_zone
  if buffer:len() < 7 + octets + zone then
    return nil, "frame-too-short"
  end
  if octets > 0 then
    tree:add(fields.count, buffer(7, octets), buffer(7, octets):uint64())
  end
  if zone > 0 then
    tree:add(fields.insert, buffer(7 + octets, zone))
  end
  return 7 + octets + zone, bits(flags, 3, 1) == 1, true
end

local HEADERS = { [0] = tc, [1] = tm, [2] = aos, [3] = uslp }

-- The rest -----------------------------------------------------------------------------------------------------

local function control_field(range, tree)
  local word = range:uint()
  local node = tree:add(fields.ocf, range)
  if bits(word, 29, 3) == 0 then
    node:add(fields["clcw.channel"], range(1, 1), bits(word, 18, 6))
    node:add(fields["clcw.lockout"], range(2, 1), bits(word, 13, 1) == 1)
    node:add(fields["clcw.wait"], range(2, 1), bits(word, 12, 1) == 1)
    node:add(fields["clcw.retransmit"], range(2, 1), bits(word, 11, 1) == 1)
    node:add(fields["clcw.report"], range(3, 1), bits(word, 0, 8))
  elseif bits(word, 28, 4) == 12 then
    node:add(fields["fsr.alarm"], range(0, 1), bits(word, 27, 1) == 1)
    node:add(fields["fsr.bad_sequence"], range(0, 1), bits(word, 26, 1) == 1)
    node:add(fields["fsr.bad_mac"], range(0, 1), bits(word, 25, 1) == 1)
    node:add(fields["fsr.bad_association"], range(0, 1), bits(word, 24, 1) == 1)
    node:add(fields["fsr.spi"], range(1, 2))
  end
end

-- Security header, data and trailer; a reason if they do not fit.
local function protected(range, tree)
  if range:len() < 2 then
    return "field-too-short"
  end
  local spi = range(0, 2):uint()
  tree:add(fields.spi, range(0, 2))
  local iv, sequence, pad, mac = association(spi)
  if iv == nil then
    if range:len() > 2 then
      tree:add(fields.data, range(2))
    end
    return "spi-unknown"
  end
  local header = 2 + iv + sequence + pad
  if range:len() < header + mac then
    return "field-too-short"
  end
  local at = 2
  local function part(name, octets)
    if octets > 0 then
      tree:add(fields[name], range(at, octets))
      at = at + octets
    end
  end
  part("iv", iv)
  part("sequence", sequence)
  part("pad", pad)
  part("data", range:len() - header - mac)
  part("mac", mac)
end

local function frame(kind, buffer, tree)
  tree:add(fields.kind, buffer(0, 0), kind)
  local header, second, protectable = HEADERS[kind](buffer, tree)
  if header == nil then
    return second
  end
  local stop = buffer:len() - (sdls.prefs.fecf and 2 or 0)
  local data_stop = stop - (second and 4 or 0)
  if data_stop < header then
    return "frame-too-short"
  end
  local damaged = false
  if sdls.prefs.fecf then
    tree:add(fields.fecf, buffer(stop, 2))
    damaged = crc16(buffer, stop) ~= buffer(stop, 2):uint()
  end
  if second then
    control_field(buffer(data_stop, 4), tree)
  end
  if damaged then
    return "frame-fecf"
  end
  if protectable and sdls.prefs.associations ~= "" then
    if data_stop == header then
      return "field-too-short"
    end
    return protected(buffer(header, data_stop - header), tree)
  elseif data_stop > header then
    tree:add(fields.data, buffer(header, data_stop - header))
  end
end

-- What a datagram carries. Where it goes decides first: a TC port often answers from the TM port, and the other way.
local function kind_of(pinfo)
  for _, end_port in ipairs({ pinfo.dst_port, pinfo.src_port }) do
    for kind = 0, 3 do
      local port = sdls.prefs[PORTS[kind + 1]]
      if port ~= 0 and port == end_port then
        return kind
      end
    end
  end
end

function sdls.dissector(buffer, pinfo, root)
  local kind = kind_of(pinfo)
  if not kind then
    return 0
  end
  pinfo.cols.protocol = KIND[kind]
  local tree = root:add(sdls, buffer())
  local reason = frame(kind, buffer, tree)
  if reason then
    tree:add(fields.refused, reason)
    pinfo.cols.info = "refused: " .. reason
  end
  return buffer:len()
end

local registered = {}
local function register()
  local ports = DissectorTable.get("udp.port")
  for _, port in ipairs(registered) do
    ports:remove(port, sdls)
  end
  registered = {}
  for _, name in ipairs(PORTS) do
    if sdls.prefs[name] ~= 0 then
      ports:add(sdls.prefs[name], sdls)
      table.insert(registered, sdls.prefs[name])
    end
  end
end

sdls.prefs_changed = register
sdls.init = register
