import JSONText
import Platform
import TestSupport
import Testing

@testable import CommandLine

@Suite(.watchdog) struct ProgressReportTests {
    private func report() -> ProgressReport {
        var report = ProgressReport()
        (report.files, report.allFiles) = (12, 1200)
        (report.bytes, report.allBytes) = (300 << 20, 1 << 30)
        report.rate = Double(24 << 20)
        report.running = [
            .init(name: "photos/2026/a-long-name-of-a-photo.jpg", completed: 1 << 20, total: 4 << 20),
            .init(name: String(repeating: "写真", count: 20), completed: 0, total: 4 << 20),
        ]
        return report
    }

    @Test func `One line has files, bytes, rate and time left, and each running file has one below it`() {
        #expect(
            report().lines(width: 120) == [
                "[########......................] 12 of 1200 files  29%  300.0 MiB of 1.0 GiB  24.0 MiB/s  0:30",
                "  photos/2026/a-long-name-of-a-photo.jpg  25% of 4.0 MiB",
                "  \(String(repeating: "写真", count: 20))  0% of 4.0 MiB",
            ])
        #expect(report().sentence == "12 of 1200 files, 300.0 MiB of 1.0 GiB (29%), 24.0 MiB/s, 0:30 left")
    }

    @Test(arguments: [
        (false, 0, 0, "so far  0 bytes"), (false, 5, 7, "so far  5 bytes"), (true, 5, 10, "50%  of 10 bytes"),
    ])
    func `A folder that is being searched has no percentage in the list of tasks`(
        isPlanned: Bool, completed: Int64, total: Int64, part: String
    ) {
        let snapshot: JSON = [
            "state": "paused", "kind": "write", "isPlanned": .bool(isPlanned),
            "progress": [
                "completedUnitCount": JSON(completed), "totalUnitCount": JSON(total), "fractionCompleted": 0.5,
            ],
        ]
        let line = ClientCommandRunner.line(.init(kind: .folderTask, id: "527e1234", snapshot: snapshot), 8)
        #expect(line.hasPrefix("527e1234  paused    \(part)"), "\(line)")
    }

    @Test(arguments: [10, 20, 30, 49, 50, 79, 80, 200]) func `Lines fit the terminal`(width: Int) {
        let lines = report().lines(width: width)
        #expect(lines.allSatisfy { $0.columns <= width }, "\(lines)")
        #expect(lines[0].contains("29%"))
    }

    @Test func `A single file has no count, and unknown numbers are left out`() {
        var report = ProgressReport()
        report.allFiles = 1
        report.bytes = 5
        #expect(report.lines(width: 80) == ["5 bytes"] && report.sentence == "5 bytes")
        report.allBytes = 10
        #expect(report.lines(width: 80) == ["[###############...............] 50%  5 bytes of 10 bytes"])
        (report.rate, report.allBytes) = (0.001, .max)
        #expect(report.sentence == "5 bytes of 8388608.0 TiB (0%), 0 bytes/s")
        report.allFiles = nil
        #expect(report.sentence.hasPrefix("0 files, 5 bytes"))
    }

    @Test func `Bytes that are read again are named in place of a rate`() {
        var report = report()
        report.checked = 100 << 20
        #expect(report.lines(width: 120)[0].hasSuffix("] 12 of 1200 files  29%  checking the 100.0 MiB already stored"))
        #expect(report.lines(width: 60)[0].columns <= 60)
        #expect(report.sentence.hasSuffix("300.0 MiB of 1.0 GiB (29%), checking the 100.0 MiB already stored"))
    }

    @Test func `A result has what was moved, of how many, and what was not`() {
        #expect(TransferResult(files: 3, bytes: 6, allFiles: 3).text == "3 files, 6 bytes")
        #expect(
            TransferResult(files: 1, bytes: 3, allFiles: 5, unchanged: 4).text == "1 file (3 bytes) of 5, 4 unchanged")
        #expect(TransferResult(files: 0, bytes: 0, allFiles: 0).text == "0 files, 0 bytes")
        let result = TransferResult(files: 0, bytes: 0, allFiles: 2, unchanged: 2, deleted: 1)
        #expect(result.text == "0 files of 2, 2 unchanged, 1 deleted")
    }

    @Test func `The rate is that of the last ten seconds`() {
        var meter = RateMeter()
        let start = ContinuousClock.now
        #expect(meter.rate == nil)
        for second in 0...60 { meter.add(Int64(second < 30 ? 0 : (second - 30) * 1000), at: start + .seconds(second)) }
        #expect(meter.rate == 1000)
        for second in 61...80 { meter.add(30_000, at: start + .seconds(second)) }
        #expect(meter.rate == nil, "nothing moves any more")
    }

    @Test(arguments: [
        ("abc", 3), ("写真", 4), ("e\u{301}", 1), ("👍🏽", 2), ("한국", 4), ("ﾊﾝｶｸ", 4), ("", 0), ("Ａ", 2),
    ]) func `Columns are those of a terminal`(text: String, columns: Int) {
        #expect(text.columns == columns)
    }

    @Test func `A long text keeps its beginning and its end`() {
        #expect("photos/rivers.jpg".elided(to: 9) == "phot….jpg")
        #expect("photos".elided(to: 6) == "photos")
        for width in 4...12 { #expect("写真写真写真abc".elided(to: width).columns <= width) }
    }
}
