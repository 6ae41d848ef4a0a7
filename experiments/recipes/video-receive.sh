#!/bin/sh
# Takes video of video-send.sh and writes each frame that came whole within 160 ms into a file of its own in frames/.
mkdir -p frames
exec gst-launch-1.0 -q \
    udpsrc port=5004 \
    caps=application/x-rtp,media=video,clock-rate=90000,encoding-name=VP8,payload=96 ! \
    rtpjitterbuffer latency=160 ! rtpvp8depay ! multifilesink location=frames/%05d.vp8
