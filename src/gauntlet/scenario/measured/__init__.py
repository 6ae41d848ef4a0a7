"""Links that were measured: drive tests, Mahimahi's traces and captures (pcap, pcapng) become traces."""
