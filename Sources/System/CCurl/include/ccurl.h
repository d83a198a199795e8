#pragma once

#include <stddef.h>
#include <stdint.h>

// The part of libcurl that is used here. The library is loaded when it is first needed, so no
// headers of it are needed to build. Every function is the curl_ function of the same name; numbers
// are libcurl's own, which it never changes.

/// Loads the library, once for the process. NULL, or why it cannot be loaded; no other function may then be called.
const char *ccurl_load(void);

typedef struct ccurl_easy ccurl_easy;
typedef struct ccurl_multi ccurl_multi;
typedef struct ccurl_list ccurl_list;

// The options that are set, by name and number.
#define CCURL_OPTIONS(_) \
    _(SSLVERSION, 32) _(NOPROGRESS, 43) _(NOBODY, 44) _(UPLOAD, 46) _(FOLLOWLOCATION, 52) _(SSL_VERIFYPEER, 64) \
    _(FRESH_CONNECT, 74) _(HTTPGET, 80) _(SSL_VERIFYHOST, 81) _(HTTP_VERSION, 84) _(BUFFERSIZE, 98) _(NOSIGNAL, 99) \
    _(CONNECTTIMEOUT_MS, 156) _(PROTOCOLS, 181) _(TCP_KEEPALIVE, 213) _(PATH_AS_IS, 234) \
    _(SUPPRESS_CONNECT_HEADERS, 265) _(DISALLOW_USERNAME_IN_URL, 278) _(UPLOAD_BUFFERSIZE, 280) \
    _(HTTP09_ALLOWED, 285) _(QUICK_EXIT, 322) _(WRITEDATA, 10001) _(URL, 10002) _(PROXY, 10004) _(READDATA, 10009) \
    _(ERRORBUFFER, 10010) _(HTTPHEADER, 10023) _(HEADERDATA, 10029) _(CUSTOMREQUEST, 10036) _(XFERINFODATA, 10057) \
    _(CAINFO, 10065) _(CAPATH, 10097) _(SOCKOPTDATA, 10149) _(COPYPOSTFIELDS, 10165) _(SEEKDATA, 10168) \
    _(NOPROXY, 10177) _(PROXY_CAINFO, 10246) _(PROXY_CAPATH, 10247) _(RESOLVER_START_DATA, 10273) \
    _(PREREQDATA, 10313) _(WRITEFUNCTION, 20011) _(READFUNCTION, 20012) _(HEADERFUNCTION, 20079) \
    _(SOCKOPTFUNCTION, 20148) _(SEEKFUNCTION, 20167) _(XFERINFOFUNCTION, 20219) _(RESOLVER_START_FUNCTION, 20272) \
    _(PREREQFUNCTION, 20312) _(INFILESIZE_LARGE, 30115) _(POSTFIELDSIZE_LARGE, 30120)

#define CCURL_ENUMERATOR(name, number) CCURL_##name = number,
enum ccurl_option { CCURL_OPTIONS(CCURL_ENUMERATOR) };
#undef CCURL_ENUMERATOR

enum ccurl_value {
    CCURL_PROTOCOL_HTTP = 1,
    CCURL_PROTOCOL_HTTPS = 2,
    CCURL_HTTP_VERSION_2TLS = 4,
    CCURL_SSLVERSION_TLSV1_2 = 6,
    CCURL_ERROR_SIZE = 256,
};

enum ccurl_info {
    CCURL_RESPONSE_CODE = 0x200002,
    CCURL_REQUEST_SIZE = 0x20000c,
    CCURL_HTTP_CONNECTCODE = 0x200016,
    CCURL_OS_ERRNO = 0x200019,
    /// The port of this end of the connection.
    CCURL_LOCAL_PORT = 0x20002a,
    /// Bytes of the body.
    CCURL_SIZE_UPLOAD_T = 0x600007,
    /// Not 0 once the request has had a connection.
    CCURL_PRETRANSFER_TIME_T = 0x600035,
};

enum ccurl_multi_option {
    CCURL_MULTI_MAXCONNECTS = 6,
    CCURL_MULTI_MAX_HOST_CONNECTIONS = 7,
};

enum ccurl_code {
    CCURL_OK = 0,
    CCURL_UNSUPPORTED_PROTOCOL = 1,
    CCURL_URL_MALFORMAT = 3,
    CCURL_NOT_BUILT_IN = 4,
    CCURL_COULDNT_RESOLVE_PROXY = 5,
    CCURL_COULDNT_RESOLVE_HOST = 6,
    CCURL_COULDNT_CONNECT = 7,
    CCURL_WEIRD_SERVER_REPLY = 8,
    CCURL_HTTP2 = 16,
    CCURL_PARTIAL_FILE = 18,
    CCURL_OUT_OF_MEMORY = 27,
    CCURL_SSL_CONNECT_ERROR = 35,
    CCURL_INTERFACE_FAILED = 45,
    CCURL_UNKNOWN_OPTION = 48,
    CCURL_GOT_NOTHING = 52,
    CCURL_SSL_ENGINE_NOTFOUND = 53,
    CCURL_SSL_ENGINE_SETFAILED = 54,
    CCURL_SEND_ERROR = 55,
    CCURL_RECV_ERROR = 56,
    CCURL_SSL_CERTPROBLEM = 58,
    CCURL_SSL_CIPHER = 59,
    CCURL_PEER_FAILED_VERIFICATION = 60,
    CCURL_USE_SSL_FAILED = 64,
    CCURL_SEND_FAIL_REWIND = 65,
    CCURL_SSL_ENGINE_INITFAILED = 66,
    CCURL_LOGIN_DENIED = 67,
    CCURL_SSL_CACERT_BADFILE = 77,
    CCURL_SSL_SHUTDOWN_FAILED = 80,
    CCURL_SSL_CRL_BADFILE = 82,
    CCURL_SSL_ISSUER_ERROR = 83,
    CCURL_SSL_PINNEDPUBKEYNOTMATCH = 90,
    CCURL_SSL_INVALIDCERTSTATUS = 91,
    CCURL_HTTP2_STREAM = 92,
    CCURL_PROXY_ERROR = 97,
    CCURL_SSL_CLIENTCERT = 98,
    CCURL_TOO_LARGE = 100,
};

/// The results of a body callback besides a number of bytes.
enum ccurl_bytes_answer { CCURL_ABORT = 0x10000000, CCURL_PAUSE = 0x10000001 };
enum ccurl_pause { CCURL_PAUSE_RECEIVING = 1, CCURL_PAUSE_SENDING = 4 };

/// The functions that libcurl calls during a transfer, and the context that it passes to each of them.
typedef struct {
    void *context;
    size_t (*header)(char *bytes, size_t size, size_t count, void *context);
    size_t (*write)(char *bytes, size_t size, size_t count, void *context);
    size_t (*read)(char *bytes, size_t size, size_t count, void *context);
    int (*seek)(void *context, int64_t offset, int origin);
    int (*progress)(void *context, int64_t toReceive, int64_t received, int64_t toSend, int64_t sent);
    /// A name is about to be resolved.
    int (*resolving)(void *resolver, void *reserved, void *context);
    /// A socket is about to be connected.
    int (*connecting)(void *context, int socket, int purpose);
    /// The request is about to be sent on a connection; not 0 forbids it. Not called by libraries older than 7.80.
    int (*sending)(void *context, char *peer, char *own, int peer_port, int own_port);
} ccurl_callbacks;

ccurl_easy *ccurl_easy_init(void);
void ccurl_easy_cleanup(ccurl_easy *);
int ccurl_easy_pause(ccurl_easy *, int directions);
const char *ccurl_easy_strerror(int code);
// Setting an option returns libcurl's code, which is not 0 if this library does not support the option.
int ccurl_set_long(ccurl_easy *, int option, long value);
int ccurl_set_offset(ccurl_easy *, int option, int64_t value);
/// Copies the string; `COPYPOSTFIELDS` copies the number of bytes that was announced before.
int ccurl_set_bytes(ccurl_easy *, int option, const void *bytes);
int ccurl_set_headers(ccurl_easy *, ccurl_list *);
/// `buffer` has `CCURL_ERROR_SIZE` bytes and stays until the handle is cleaned up.
int ccurl_set_error_buffer(ccurl_easy *, char *buffer);
/// Sets all callbacks except `sending`. Stops at the first refused option, which `option` then names.
int ccurl_set_callbacks(ccurl_easy *, const ccurl_callbacks *, int *option);
int ccurl_set_sending(ccurl_easy *, const ccurl_callbacks *);
/// `CURLOPT_…`.
const char *ccurl_option_name(int option);
/// 0 if there is none.
long ccurl_get_long(ccurl_easy *, int info);
int64_t ccurl_get_offset(ccurl_easy *, int info);

/// Copies the string. NULL if memory is short; the list is then unchanged.
ccurl_list *ccurl_list_append(ccurl_list *, const char *string);
void ccurl_list_free(ccurl_list *);

ccurl_multi *ccurl_multi_init(void);
int ccurl_multi_cleanup(ccurl_multi *);
int ccurl_multi_set_long(ccurl_multi *, int option, long value);
int ccurl_multi_add(ccurl_multi *, ccurl_easy *);
int ccurl_multi_remove(ccurl_multi *, ccurl_easy *);
int ccurl_multi_perform(ccurl_multi *);
/// Waits for sockets, for libcurl's timers, for `wakeup`, at most `timeout` milliseconds.
int ccurl_multi_poll(ccurl_multi *, int timeout);
/// The only function that other threads may call.
int ccurl_multi_wakeup(ccurl_multi *);
const char *ccurl_multi_strerror(int code);
/// The next transfer that has ended, with its outcome; NULL if there is none.
ccurl_easy *ccurl_multi_next_ended(ccurl_multi *, int *code);
