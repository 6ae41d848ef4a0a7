"""Files where certificates would be: the stand-ins for server and client have no TLS."""

import sys
from pathlib import Path

folder = Path(sys.argv[3])
folder.mkdir(parents=True, exist_ok=True)
for name in ("ca.pem", "server.pem", "server.key"):
    (folder / name).write_text(f"{sys.argv[1]}: {name}\n")
