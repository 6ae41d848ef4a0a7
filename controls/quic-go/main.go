// A web server over HTTP/3 by quic-go, for the attack laboratory: one program with two versions of the library, of
// which the old one lacks bounds that the other has (scripts/quic-go.sh). It listens on loopback and nowhere else.
package main

import (
	"bytes"
	"flag"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/quic-go/quic-go/http3"
)

const (
	pageBytes = 1000
	mostBytes = 16 << 20
)

// answer has a page at /, and any number of bytes up to mostBytes at /bytes/NUMBER.
func answer(writer http.ResponseWriter, request *http.Request) {
	length := pageBytes
	if number, asked := strings.CutPrefix(request.URL.Path, "/bytes/"); asked {
		wanted, err := strconv.Atoi(number)
		if err != nil || wanted < 0 || wanted > mostBytes {
			http.NotFound(writer, request)
			return
		}
		length = wanted
	} else if request.URL.Path != "/" {
		http.NotFound(writer, request)
		return
	}
	writer.Header().Set("Content-Length", strconv.Itoa(length))
	_, _ = writer.Write(bytes.Repeat([]byte("."), length))
}

func main() {
	listen := flag.String("listen", "127.0.0.1:4433", "address and port, on loopback")
	certificate := flag.String("certificate", "", "its certificate, a file in PEM")
	key := flag.String("key", "", "the certificate's key, a file in PEM")
	flag.Parse()
	host, _, err := net.SplitHostPort(*listen)
	if err != nil || !net.ParseIP(host).IsLoopback() {
		log.Fatalf("%s is no address on loopback; this server is for attacks on this machine alone", *listen)
	}
	log.Fatal(http3.ListenAndServeQUIC(*listen, *certificate, *key, http.HandlerFunc(answer)))
}
