import Testing
import TestSupport

@testable import HTTPText

/// The reader and the writer of the XML API's documents.
@Suite(.watchdog) struct XMLTextTests {
    private func read(_ text: String) throws -> XMLElement { try XMLReader.root(of: Array(text.utf8)) }

    @Test func `A document that is written reads as it was`() throws {
        let text = "<a & \"b\">\t\r\n é \u{1F600}'"
        let written = XMLElement("Root", [XMLElement("Key", text), XMLElement("Empty", "")])
        let root = try XMLReader.root(of: written.document())
        #expect(root.name == "Root")
        #expect(root.children.map(\.name) == ["Key", "Empty"])
        #expect(root.children.map(\.text) == [text, ""])
    }

    @Test func `Declarations, attributes, comments and references are read`() throws {
        let root = try read(
            """
            \u{FEFF}<?xml version="1.0" encoding='UTF-8'?>
            <!-- one -->
            <Delete xmlns="x" a='&amp;'>
              <Object><Key>a&lt;&#65;&#x42;<!-- two -->c</Key></Object><Quiet/>
            </Delete >
            """)
        #expect(root.children.map(\.name) == ["Object", "Quiet"])
        #expect(root.children[0].children[0].text == "a<ABc")
    }

    @Test func `The characters of CDATA sections stand for themselves`() throws {
        let root = try read("<a><Key>1<![CDATA[<b>&amp;]]&gt;\r\n]]><![CDATA[]]>&lt;</Key><![CDATA[ ]]></a>")
        #expect(root.children.map(\.text) == ["1<b>&amp;]]&gt;\n<"])
    }

    @Test(arguments: [
        "", "text", "<a>", "<a></b>", "<a/><b/>", "<a/>x", "<a><b></a></b>", "<a>&nbsp;</a>", "<a>&amp</a>",
        "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&#-1;</a>", "<a>&#+65;</a>", "<a>&#99999999999;</a>", "<a>\u{1}</a>",
        "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", "<a><![CDATA[x]]</a>", "<a><![cdata[x]]></a>", "<?php x?><a/>",
        "<a b/>", "<a b=c/>",
        "<a b=\"1\" b=\"2\"/>", "<a b=\"<\"/>", "<a>x<b/></a>", "<1a/>", "<a><!-- x -- y --></a>", "<a><!--", "< a/>",
    ])
    func `What is malformed, and what documents need not have, is refused`(text: String) {
        #expect(throws: XMLReader.Malformed.self) { try read(text) }
    }

    @Test func `Elements are bounded, and those of 10,000 parts are read`() throws {
        let part = "<Part><PartNumber>1</PartNumber><ETag>&quot;a&quot;</ETag><ChecksumCRC32C/></Part>"
        #expect(try read("<a>\(String(repeating: part, count: 10_000))</a>").children.count == 10_000)
        for count in [50_000, 1_000_000] {
            #expect(throws: XMLReader.Malformed(why: "it has more than 50000 elements")) {
                try read("<a>\(String(repeating: "<b/>", count: count))</a>")
            }
        }
    }

    @Test func `Characters that XML does not have are read where the caller takes them`() throws {
        let text = "<a>&#x01;\u{1F}&#xFFFE;\u{FFFF}</a>"
        #expect(throws: XMLReader.Malformed.self) { try read(text) }
        let root = try XMLReader.root(of: Array(text.utf8), takesAllCharacters: true)
        #expect(root.text == "\u{1}\u{1F}\u{FFFE}\u{FFFF}")
    }

    @Test func `Names may have letters beyond ASCII`() throws {
        #expect(try read("<\u{E9}><a\u{E9}/></\u{E9}>").children.map(\.name) == ["a\u{E9}"])
        #expect(throws: XMLReader.Malformed.self) { try read("<a\u{20AC}/>") }
    }

    @Test func `Levels are bounded, and bytes must be UTF-8`() throws {
        let deep = { (count: Int) in
            String(repeating: "<a>", count: count) + String(repeating: "</a>", count: count)
        }
        _ = try read(deep(8))
        #expect(throws: XMLReader.Malformed.self) { try read(deep(9)) }
        #expect(throws: XMLReader.Malformed.self) { try read(deep(100_000)) }
        #expect(throws: XMLReader.Malformed.self) { try XMLReader.root(of: [0x3C, 0x61, 0x2F, 0xFF, 0x3E]) }
    }
}
