import JSONText
import Resources
import Storage

/// Writes a trace model as one self-contained page for a browser.
package enum TracePage {
    package static func html(of model: TraceModel) -> [UInt8] {
        var page: [UInt8] = []
        var rest = bytes(resource_page())[...]
        while let hole = rest.firstIndex(of: UInt8(ascii: "@")) {
            page += rest[..<hole]
            let name = rest[(hole + 1)...].prefix { $0 != UInt8(ascii: "@") }
            switch String(decoding: name, as: UTF8.self) {
            case "style": page += bytes(resource_page_style())
            case "script": page += bytes(resource_page_script())
            case "trace": page += harmless(json(of: model))
            default: page += rest[hole..<name.endIndex]
            }
            rest = rest[name.endIndex...].dropFirst()
        }
        return page + rest
    }

    private static func bytes(_ part: resource) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: part.bytes, count: part.count)
    }

    /// JSON for a script element: it contains no `<`.
    private static func harmless(_ json: JSON) -> [UInt8] {
        var (text, harmless) = ([UInt8](), [UInt8]())
        json.write(to: &text)
        for byte in text {
            if byte == UInt8(ascii: "<") { harmless += Array("\\u003c".utf8) } else { harmless.append(byte) }
        }
        return harmless
    }

    // The data of the page's script. Times are in microseconds since the start.

    private static func json(of model: TraceModel) -> JSON {
        let start = model.start
        return [
            "started": .string(Timestamp(microseconds: start).rfc3339), "length": JSON(model.end - start),
            "channels": .array(model.channels.map { json(of: $0, start) }),
            "entries": .array(model.entries.map { json(of: $0, start) }),
            "tasks": .array(model.tasks.map { json(of: $0, start, end: model.end) }),
            "problems": .array(model.problems.map { .string($0) }),
            "omittedProblems": JSON(Int64(model.omittedProblems)),
        ]
    }

    private static func json(of channel: TraceModel.Channel, _ start: Int64) -> JSON {
        [
            "number": JSON(channel.number), "name": .string(channel.name),
            "client": channel.client.map { .string($0) } ?? .null, "began": JSON(channel.began - start),
            "ended": channel.ended.map { JSON($0 - start) } ?? .null,
        ]
    }

    private static func json(of entry: TraceModel.Entry, _ start: Int64) -> JSON {
        [
            "at": JSON(entry.at - start), "channel": JSON(Int64(entry.channel)), "kind": .string(entry.kind.rawValue),
            "title": .string(entry.title), "detail": .string(entry.detail), "id": .string(entry.id),
            "bytes": JSON(entry.bytes), "error": entry.error.map { .string($0) } ?? .null,
            "partner": entry.partner.map { JSON(Int64($0)) } ?? .null, "message": entry.message,
        ]
    }

    private static func json(of task: TracedTransfer, _ start: Int64, end: Int64) -> JSON {
        [
            "task": .string(task.task), "kind": .string(task.kind), "reference": .string(task.reference),
            "verdict": task.verdict(until: end).map { .string($0) } ?? .null,
            "error": task.error.map { .string($0) } ?? .null, "isEnded": .bool(task.isEnded),
            "samples": .array(
                task.samples.map { sample in
                    [
                        JSON(sample.at - start), .string(sample.state), JSON(sample.completed), JSON(sample.total),
                        .string(sample.note),
                    ]
                }),
        ]
    }
}
