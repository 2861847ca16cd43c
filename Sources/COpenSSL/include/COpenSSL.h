#pragma once
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// The descriptor as OpenSSL sees it, and what is known of it without asking the kernel. Owned by its SSL.
typedef struct ctls_wire {
    int fd;
    // errno of the call that failed last; 0 when none did.
    int error;
    // False after a short read, a short write or EAGAIN, until epoll says otherwise: no call is made just to see EAGAIN.
    unsigned char can_read, can_write;
    // The peer has hung up: a short read is followed by another one, which sees the end.
    unsigned char hung_up;
} ctls_wire;

// Gives an SSL its descriptor, which stays the caller's. NULL when there is no memory.
ctls_wire *ctls_attach(SSL *ssl, int fd);

// Why an operation moved no byte. All below 0.
enum {
    CTLS_WANT_READ = -1,
    CTLS_WANT_WRITE = -2,
    // The peer has said that it is done (close_notify).
    CTLS_CLOSED = -3,
    // The connection ended without that.
    CTLS_CUT = -4,
    // The descriptor failed: `ctls_wire.error`.
    CTLS_BROKEN = -5,
    // The protocol failed: the queue of errors says why.
    CTLS_FAILED = -6,
};

// Each returns how many bytes it moved (the handshake: 1), or one of the above.
long ctls_read(SSL *ssl, void *p, size_t n);
long ctls_peek(SSL *ssl, void *p, size_t n);
long ctls_write(SSL *ssl, const void *p, size_t n);
long ctls_handshake(SSL *ssl);
// Tells the peer that nothing follows, as far as that goes without waiting.
void ctls_notify(SSL *ssl);

// What of OpenSSL is a macro, or has a variable argument list.
void ctls_prepare(SSL_CTX *context);
int ctls_set_ciphers(SSL_CTX *context);
void ctls_set_server_name_callback(SSL_CTX *context, int (*choose)(SSL *, int *, void *), void *argument);
int ctls_set_server_name(SSL *ssl, const char *name);
int ctls_has_resumed(SSL *ssl);
// Whether bytes of a record are there whose rest is missing, or that nobody has read.
int ctls_holds_part(SSL *ssl);
int ctls_reason(unsigned long error);
// When a certificate ends, in seconds since 1970; negative where that cannot be read.
long long ctls_certificate_end(const X509 *certificate);
// The first host name of a certificate, else the common name of its subject, with a 0 behind; cut to fit.
void ctls_certificate_name(X509 *certificate, char *name, size_t size);
