// timegm is none of the C standard's.
#define _DEFAULT_SOURCE
#include "COpenSSL.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

// A BIO of our own in place of BIO_s_socket: MSG_NOSIGNAL, and the memory of short reads.

static int wire_read(BIO *bio, char *p, size_t n, size_t *moved) {
    ctls_wire *wire = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    *moved = 0;
    if (!wire->can_read) {
        BIO_set_retry_read(bio);
        return 0;
    }
    ssize_t count = recv(wire->fd, p, n, 0);
    if (count > 0) {
        if ((size_t)count < n && !wire->hung_up) wire->can_read = 0;
        *moved = (size_t)count;
        return 1;
    }
    if (count == 0) {
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
        return 0;
    }
    if (errno == EINTR || errno == EAGAIN) {
        if (errno == EAGAIN) wire->can_read = 0;
        BIO_set_retry_read(bio);
    } else {
        wire->error = errno;
    }
    return 0;
}

static int wire_write(BIO *bio, const char *p, size_t n, size_t *moved) {
    ctls_wire *wire = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    *moved = 0;
    if (!wire->can_write) {
        BIO_set_retry_write(bio);
        return 0;
    }
    ssize_t count = send(wire->fd, p, n, MSG_NOSIGNAL);
    if (count >= 0) {
        if ((size_t)count < n) wire->can_write = 0;
        *moved = (size_t)count;
        return 1;
    }
    if (errno == EINTR || errno == EAGAIN) {
        if (errno == EAGAIN) wire->can_write = 0;
        BIO_set_retry_write(bio);
    } else {
        wire->error = errno;
    }
    return 0;
}

static long wire_control(BIO *bio, int command, long number, void *pointer) {
    (void)number, (void)pointer;
    switch (command) {
    case BIO_CTRL_FLUSH: return 1;
    case BIO_CTRL_EOF: return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    default: return 0;
    }
}

static int wire_destroy(BIO *bio) {
    free(BIO_get_data(bio));
    return 1;
}

static BIO_METHOD *wire_method;
static pthread_once_t wire_once = PTHREAD_ONCE_INIT;

static void make_wire_method(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "cutover");
    if (!method) return;
    BIO_meth_set_read_ex(method, wire_read);
    BIO_meth_set_write_ex(method, wire_write);
    BIO_meth_set_ctrl(method, wire_control);
    BIO_meth_set_destroy(method, wire_destroy);
    wire_method = method;
}

ctls_wire *ctls_attach(SSL *ssl, int fd) {
    pthread_once(&wire_once, make_wire_method);
    if (!wire_method) return NULL;
    ctls_wire *wire = calloc(1, sizeof *wire);
    if (!wire) return NULL;
    BIO *bio = BIO_new(wire_method);
    if (!bio) {
        free(wire);
        return NULL;
    }
    wire->fd = fd;
    wire->can_read = wire->can_write = 1;
    BIO_set_data(bio, wire);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_read_ahead(ssl, 1);
    return wire;
}

// What is left in the queue of an earlier failure would be taken for this one's.
static void forget_errors(void) {
    if (ERR_peek_error()) ERR_clear_error();
}

static long outcome(SSL *ssl, int result) {
    switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_WANT_READ: return CTLS_WANT_READ;
    case SSL_ERROR_WANT_WRITE: return CTLS_WANT_WRITE;
    case SSL_ERROR_ZERO_RETURN: return CTLS_CLOSED;
    case SSL_ERROR_SYSCALL: {
        ctls_wire *wire = BIO_get_data(SSL_get_rbio(ssl));
        return wire->error ? CTLS_BROKEN : CTLS_CUT;
    }
    default:
        if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) return CTLS_CUT;
        return CTLS_FAILED;
    }
}

long ctls_read(SSL *ssl, void *p, size_t n) {
    size_t moved = 0;
    forget_errors();
    int result = SSL_read_ex(ssl, p, n, &moved);
    return result > 0 ? (long)moved : outcome(ssl, result);
}

long ctls_peek(SSL *ssl, void *p, size_t n) {
    size_t moved = 0;
    forget_errors();
    int result = SSL_peek_ex(ssl, p, n, &moved);
    return result > 0 ? (long)moved : outcome(ssl, result);
}

long ctls_write(SSL *ssl, const void *p, size_t n) {
    size_t moved = 0;
    forget_errors();
    int result = SSL_write_ex(ssl, p, n, &moved);
    return result > 0 ? (long)moved : outcome(ssl, result);
}

long ctls_handshake(SSL *ssl) {
    forget_errors();
    int result = SSL_do_handshake(ssl);
    return result == 1 ? 1 : outcome(ssl, result);
}

void ctls_notify(SSL *ssl) {
    forget_errors();
    SSL_shutdown(ssl);
    forget_errors();
}

void ctls_prepare(SSL_CTX *context) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_mode(
        context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    // Tickets only: a cache of sessions would be memory that clients fill.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

int ctls_set_ciphers(SSL_CTX *context) {
    // Of TLS 1.2 what has forward secrecy and authenticates what it encrypts.
    return SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
}

void ctls_set_server_name_callback(SSL_CTX *context, int (*choose)(SSL *, int *, void *), void *argument) {
    SSL_CTX_set_tlsext_servername_callback(context, choose);
    SSL_CTX_set_tlsext_servername_arg(context, argument);
}

int ctls_set_server_name(SSL *ssl, const char *name) { return (int)SSL_set_tlsext_host_name(ssl, name); }

int ctls_has_resumed(SSL *ssl) { return SSL_session_reused(ssl); }

int ctls_holds_part(SSL *ssl) {
    // "RB": the header of a record was read and its body was not, of which no byte need be there yet.
    return SSL_has_pending(ssl) || SSL_rstate_string(ssl)[1] == 'B';
}

int ctls_reason(unsigned long error) { return ERR_GET_REASON(error); }

long long ctls_certificate_end(const X509 *certificate) {
    struct tm end;
    if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) != 1) return -1;
    return (long long)timegm(&end);
}

void ctls_certificate_name(X509 *certificate, char *name, size_t size) {
    name[0] = 0;
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *each = sk_GENERAL_NAME_value(names, i);
        if (each->type != GEN_DNS) continue;
        size_t length = (size_t)ASN1_STRING_length(each->d.dNSName);
        if (length > size - 1) length = size - 1;
        memcpy(name, ASN1_STRING_get0_data(each->d.dNSName), length);
        name[length] = 0;
        break;
    }
    GENERAL_NAMES_free(names);
    if (!name[0]) X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, (int)size);
}
