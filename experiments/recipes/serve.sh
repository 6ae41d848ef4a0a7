#!/bin/sh
# Server of a stack of one's own: a file of the size that is asked for, by a server that knows nothing of Gauntlet.
head -c "$GAUNTLET_SIZE_BYTES" /dev/zero > "$GAUNTLET_SCRATCH/file"
case $GAUNTLET_PROGRAM in
    curl)
        python3 -m http.server "$GAUNTLET_PORT" --bind "$GAUNTLET_SERVER_ADDRESS" --directory "$GAUNTLET_SCRATCH" & ;;
    gtlsclient)
        gtlsserver --quiet --htdocs "$GAUNTLET_SCRATCH" "$GAUNTLET_SERVER_ADDRESS" "$GAUNTLET_PORT" \
            "$GAUNTLET_KEY" "$GAUNTLET_CERTIFICATE" & ;;
esac
# Neither says when it listens.
sleep 0.2
echo "GAUNTLET READY"
wait
