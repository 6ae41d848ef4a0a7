module gauntlet/controls/quic-go

go 1.21

// CVE-2023-49295 (0.40.1), CVE-2024-22189 (0.42.0) and CVE-2025-64702 (0.57.0) came after it.
require github.com/quic-go/quic-go v0.40.0
