module gauntlet/controls/quic-go

go 1.24

require github.com/quic-go/quic-go v0.65.0
