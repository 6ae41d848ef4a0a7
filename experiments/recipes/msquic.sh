#!/bin/sh
# MsQuic's client or server of a stack of one's own, the variables say which: what scripts/msquic.sh builds.
exec ../target/msquic/release/msquic-transfer
