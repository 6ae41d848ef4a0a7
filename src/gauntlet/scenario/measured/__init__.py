"""Links that were measured: drive tests (CSV), Mahimahi's traces and captures (pcap, pcapng) become traces."""
