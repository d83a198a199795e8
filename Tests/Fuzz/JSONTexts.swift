import JSONText

/// What is taken for JSON is UTF-8, one value, and the same value once it has been written and read again.
@Sendable func fuzzJSON(_ input: UnsafeRawBufferPointer) {
    do throws(JSONSyntaxError) {
        let value = try JSON(parsing: input)
        expect(String(validating: input, as: UTF8.self) != nil, "JSON is UTF-8")
        let written = bytes(of: value)
        expect(!written.contains { $0 < 0x20 }, "JSON is written on one line")
        guard let again = parsed(written) else { fail("what was written is no JSON: \(value)") }
        expect(again == value && bytes(of: again) == written, "what was written reads back: \(value)")
        expect(parsed([0x20, 0x0A] + input + [0x0D, 0x09]) == value, "space around it changes nothing")
        for more in [",", "]", "}", "0 0", "\"", "\0"] {
            expect(parsed(input + Array(more.utf8)) == nil, "one value alone")
        }
        checkLookUps(value)
        checkCount(of: value, input)
        checkElements(of: value, input)
    } catch {
        expect(refusal(of: input) == error, "it is refused alike where it is only checked: \(error)")
        expect((0...input.count).contains(error.offset), "an error is within the text: \(error)")
    }
}

/// Neither what is read nor what is only checked has more values than allowed.
private func checkCount(of value: JSON, _ input: UnsafeRawBufferPointer) {
    let count = count(value)
    for most in [count, count - 1] {
        let isAllowed = most == count
        expect(
            (attempt { () throws(JSONSyntaxError) in try JSON(parsing: input, maxValues: most) } != nil) == isAllowed,
            "it has \(count) values when it is read")
        expect((refusal(of: input, maxValues: most) == nil) == isAllowed, "it has \(count) values when it is checked")
    }
}

private func count(_ value: JSON) -> Int {
    1 + (value.array ?? value.object?.map(\.value) ?? []).reduce(0) { $0 + count($1) }
}

/// What is read one by one is what is read as a whole.
private func checkElements(of value: JSON, _ input: UnsafeRawBufferPointer) {
    guard var elements = attempt({ () throws(JSONSyntaxError) in try JSONElements(ArraySlice(input)) }) ?? nil else {
        return expect(value.array == nil, "an array has elements: \(value)")
    }
    var found: [JSON] = []
    expect(elements.count == value.array?.count, "they are counted: \(value)")
    while let next = elements.next() { found.append(next.element) }
    expect(found == value.array && elements.count == 0, "they are the same one by one: \(value)")
}

private func refusal(of input: UnsafeRawBufferPointer, maxValues: Int = .max) -> JSONSyntaxError? {
    do throws(JSONSyntaxError) {
        _ = try JSONElements(ArraySlice(input), maxValues: maxValues)
        return nil
    } catch {
        return error
    }
}

private func checkLookUps(_ value: JSON) {
    for member in value.object ?? [] {
        expect(value[member.key] != nil, "every member is found")
        checkLookUps(member.value)
    }
    value.array?.forEach(checkLookUps)
    if let number = value.number, let integer = number.int64 {
        expect(JSON(integer).number?.int64 == integer, "integers are kept")
    }
    if let double = value.number?.double { expect(JSON(double).number?.double == double, "doubles are kept") }
}

private func parsed(_ bytes: some Sequence<UInt8>) -> JSON? {
    Array(bytes).withUnsafeBytes { bytes in attempt { () throws(JSONSyntaxError) in try JSON(parsing: bytes) } }
}

private func bytes(of value: JSON) -> [UInt8] {
    var bytes: [UInt8] = []
    value.write(to: &bytes)
    return bytes
}
