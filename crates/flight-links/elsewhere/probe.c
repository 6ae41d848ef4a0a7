/*
 * What a command link asks of AWS-LC, without the protocol around it, so that it can be compiled for a processor for
 * which Rust's standard library is not installed (src/gauntlet/space/elsewhere.py).
 *
 *   probe message OCTETS COUNT   each sealed and opened, with AES-256-GCM
 *   probe handshake COUNT        key pairs, agreements, signatures and checks of two ends that both show a certificate
 *
 * It prints nothing; its exit status says whether everything came out as it went in.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/aead.h>
#include <openssl/curve25519.h>

#define KEY_OCTETS 32
#define NONCE_OCTETS 12
#define TAG_OCTETS 16

/* As long as the header that QUIC, TLS or DTLS authenticate with a message, about. */
#define HEADER_OCTETS 16

#define MOST_OCTETS 65536

/* As much as TLS 1.3 signs with SHA-384: 64 spaces, 33 octets that say what for, a zero, the hash (RFC 8446, 4.4.3). */
#define SIGNED_OCTETS (64 + 33 + 1 + 48)

static uint8_t text[MOST_OCTETS], sealed[MOST_OCTETS + TAG_OCTETS], opened[MOST_OCTETS];

static int messages(size_t octets, unsigned long count) {
  static const uint8_t key[KEY_OCTETS] = {7};
  uint8_t nonce[NONCE_OCTETS] = {0}, header[HEADER_OCTETS] = {0};
  if (octets > MOST_OCTETS) {
    return 0;
  }
  EVP_AEAD_CTX *ground = EVP_AEAD_CTX_new(EVP_aead_aes_256_gcm(), key, sizeof key, TAG_OCTETS);
  EVP_AEAD_CTX *space = EVP_AEAD_CTX_new(EVP_aead_aes_256_gcm(), key, sizeof key, TAG_OCTETS);
  int good = ground != NULL && space != NULL;
  for (unsigned long number = 0; good && number < count; number++) {
    size_t sent = 0, came = 0;
    memcpy(nonce, &number, sizeof number);
    memset(text, (int)(number & 0xff), octets);
    good = EVP_AEAD_CTX_seal(ground, sealed, &sent, sizeof sealed, nonce, sizeof nonce, text, octets, header,
                             sizeof header) &&
           EVP_AEAD_CTX_open(space, opened, &came, sizeof opened, nonce, sizeof nonce, sealed, sent, header,
                             sizeof header) &&
           came == octets && memcmp(opened, text, octets) == 0;
  }
  EVP_AEAD_CTX_free(ground);
  EVP_AEAD_CTX_free(space);
  return good;
}

struct end {
  uint8_t long_public[ED25519_PUBLIC_KEY_LEN], long_private[ED25519_PRIVATE_KEY_LEN];
  uint8_t public[X25519_PUBLIC_VALUE_LEN], private[X25519_PRIVATE_KEY_LEN];
  uint8_t shared[X25519_SHARED_KEY_LEN];
};

/* Certificates are signed before anybody flies; the signatures under them are checked in each handshake. */
struct certificates {
  uint8_t authority_public[ED25519_PUBLIC_KEY_LEN];
  uint8_t body[300];
  uint8_t signature[ED25519_SIGNATURE_LEN];
};

static int shows(struct end *one, const struct certificates *of) {
  static const uint8_t said[SIGNED_OCTETS] = {' '};
  uint8_t signature[ED25519_SIGNATURE_LEN];
  return ED25519_sign(signature, said, sizeof said, one->long_private) &&
         ED25519_verify(of->body, sizeof of->body, of->signature, of->authority_public) &&
         ED25519_verify(said, sizeof said, signature, one->long_public);
}

static int handshakes(unsigned long count) {
  static struct end ground, space;
  static struct certificates certificates;
  uint8_t authority[ED25519_PRIVATE_KEY_LEN];
  ED25519_keypair(certificates.authority_public, authority);
  ED25519_keypair(ground.long_public, ground.long_private);
  ED25519_keypair(space.long_public, space.long_private);
  int good = ED25519_sign(certificates.signature, certificates.body, sizeof certificates.body, authority);
  for (unsigned long number = 0; good && number < count; number++) {
    X25519_keypair(ground.public, ground.private);
    X25519_keypair(space.public, space.private);
    good = X25519(space.shared, space.private, ground.public) && shows(&space, &certificates) &&
           X25519(ground.shared, ground.private, space.public) && shows(&ground, &certificates) &&
           memcmp(ground.shared, space.shared, sizeof ground.shared) == 0;
  }
  return good;
}

int main(int argc, char **argv) {
  int good = 0;
  if (argc == 4 && strcmp(argv[1], "message") == 0) {
    good = messages(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
  } else if (argc == 3 && strcmp(argv[1], "handshake") == 0) {
    good = handshakes(strtoul(argv[2], NULL, 10));
  }
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
