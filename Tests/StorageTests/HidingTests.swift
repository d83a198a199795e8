import Storage
import Testing

@Suite struct HidingTests {
    @Test(arguments: [
        ("Bearer abc, abc", "Bearer (…), (…)"), ("ab c", "ab c"), ("", ""), ("éabcé", "é(…)é"), ("d", "(…)"),
    ])
    func `Secrets are hidden wherever they stand`(text: String, shown: String) {
        #expect(text.hiding(["abc", "", "d"]) == shown)
    }

    @Test(arguments: [
        (#"{"url":"http://h/o/a?alt=media&token=s-1"}"#, #"{"url":"http://h/o/a?alt=media&token=(…)"}"#),
        ("http://h/o?token=a%20b&alt=media#x", "http://h/o?token=(…)&alt=media#x"),
        ("<a>?a=b&amp;token=c</a>", "<a>?a=b&amp;token=(…)</a>"), (#"?a=b\u0026token=c""#, #"?a=b\u0026token=(…)""#),
        ("?token=a&token=b", "?token=(…)&token=(…)"), ("?token=", "?token=(…)"),
        ("token=a ?tokens=b &xtoken=c", "token=a ?tokens=b &xtoken=c"),
    ])
    func `What a query holds is hidden by its name`(text: String, shown: String) {
        #expect(text.hidingQueryValues(of: ["token"]) == shown)
    }

    @Test(arguments: ["https://h/a?alt=media&token=secret", "http://h/v0/b/x/p#secret", "ftp://h/a?secret"])
    func `A URL that is none is told without its query`(url: String) {
        let error = #expect(throws: StorageError.self) { try Reference(url: url) }
        #expect(error?.message.contains("… is not a storage URL") == true && error?.message.contains("secret") == false)
    }
}
