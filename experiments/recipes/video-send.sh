#!/bin/sh
# Ten seconds of video by a real encoder, VP8 at 1 Mbit/s with a key frame each second, in packets of RTP (RFC 7741)
# to a receiver that video-receive.sh started. Debian: gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good
exec gst-launch-1.0 -q \
    videotestsrc is-live=true pattern=zone-plate kx2=20 ky2=20 kt=3 num-buffers=250 ! \
    video/x-raw,width=640,height=480,framerate=25/1 ! \
    vp8enc deadline=1 threads=1 target-bitrate=1000000 keyframe-max-dist=25 ! \
    rtpvp8pay mtu=1100 ! udpsink host="${1:-trackside}" port=5004
