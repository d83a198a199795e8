import Foundation
import Glibc
import StorageRPC
import TestSupport
import Testing

@Suite(.watchdog) struct SessionTests {
    @Test func `When the service dies, what waits fails with its last words, and the next call starts another one`()
        async throws
    {
        let fixture = try ClientFixture()
        let task = try await fixture.heldUpload()
        let heard = Heard(task, [.failure])
        let waiting = Task { try await task.perform(.pause) }
        _ = try? await waiting.value
        let status = try await fixture.storage.ask(StorageCalls.ServiceStatus())
        kill(pid_t(status.pid), SIGKILL)
        #expect(await code { try await task.wait() } == .unknown)
        try await eventually { heard.statuses == [.failure] }
        let sentence = task.snapshot.error?.localizedDescription ?? ""
        #expect(sentence.hasPrefix("The service was ended by signal 9"))
        let pong = try await fixture.storage.ask(StorageCalls.ServicePing())
        #expect(pong == "pong")
        #expect(try await fixture.storage.uploadTasks().map(\.snapshot.status) == [.pause])
        await fixture.storage.close()
    }

    @Test func `A service that cannot start fails the calls, and says why`() async throws {
        func failure(_ service: StorageService) async -> String {
            do {
                _ = try await Storage.storage(service: service).ask(StorageCalls.ServicePing())
                return ""
            } catch {
                return error.localizedDescription
            }
        }
        let program = ServiceProcess.program
        #expect(await failure(StorageService(command: ["/nonexistent"])).contains("/nonexistent cannot be started"))
        #expect(
            await failure(StorageService(command: ["no-such-program"])).contains(
                "no program no-such-program on the PATH"))
        #expect(await failure(StorageService(command: [program], flags: ["--no-such"])).contains("--no-such"))
        #expect(await failure(StorageService(socket: "/nonexistent/socket")).contains("There is no service at"))
        #expect(await failure(StorageService(root: "/tmp", socket: "/a")).contains("takes no command"))
        let task = Storage.storage(service: StorageService(command: ["/nonexistent"])).reference().child("a").putData(
            Data())
        #expect(await code { try await task.wait() } == .unknown)
    }

    @Test func `A closed session lets running tasks end, and the next call opens another one`() async throws {
        let fixture = try ClientFixture(flags: [])
        let task = fixture.root.child("a").putFile(from: try fixture.file("a", bytes: 8 << 20))
        await fixture.storage.close()
        #expect(task.snapshot.status == .success)
        #expect(try await fixture.root.child("a").getMetadata().size == 8 << 20)
        await fixture.storage.close()
    }

    @Test func `A closed session lets uploads from memory and downloads to memory end, and starts no other service`()
        async throws
    {
        let fixture = try ClientFixture(flags: [])
        let bytes = Data(count: 10 << 20) + Data(repeating: 7, count: 10 << 20)
        let upload = fixture.root.child("a").putData(bytes)
        await fixture.storage.close()
        #expect(upload.snapshot.status == .success)
        let got = Heard()
        let download = fixture.root.child("a").getData(maxSize: 20 << 20) { data, _ in
            got.append(data == bytes ? .success : .failure)
        }
        await fixture.storage.close()
        try await eventually { got.statuses == [.success] }
        #expect(download.snapshot.status == .success)
    }

    @Test func `A closed session ends though an upload from memory is paused`() async throws {
        let fixture = try ClientFixture(flags: [])
        let upload = fixture.root.child("a").putData(Data(count: 40 << 20))
        try await upload.perform(.pause)
        await fixture.storage.close()
        #expect(upload.snapshot.status.rawValue >= StorageTaskStatus.pause.rawValue)
    }

    @Test func `A private service that serves others continues after the close`() async throws {
        let fixture = try ClientFixture(flags: [])
        let service = try await fixture.storage.ask(StorageCalls.ServiceStatus()).pid
        let other = Storage.storage(
            service: StorageService(
                command: ["env", ServiceProcess.program, "serve"], root: fixture.storage.service.root))
        #expect(try await other.ask(StorageCalls.ServiceStatus()).pid == service)
        await fixture.storage.close()
        #expect(try await other.ask(StorageCalls.ServiceStatus()).pid == service)
        await other.close()
        try await eventually { kill(pid_t(service), 0) == -1 }
    }

    @Test func `Calls that come while a session closes wait for the next service`() async throws {
        let fixture = try ClientFixture(flags: [])
        let calls = Task {
            for number in 0..<100 { try await fixture.root.child("\(number)").putDataAsync(Data("x".utf8)) }
        }
        for _ in 0..<5 { await fixture.storage.close() }
        try await calls.value
        #expect(try await fixture.root.listAll().items.count == 100)
        await fixture.storage.close()
    }

    @Test func `A program that is no service fails the calls with what it says, and is ended`() async throws {
        for script in ["exec yes", "echo 7; exec sleep 1000", "exec head -c 9000000 /dev/zero"] {
            let storage = Storage.storage(service: StorageService(command: ["sh", "-c", script]))
            do {
                _ = try await storage.ask(StorageCalls.ServicePing())
                Issue.record("\(script) is a service")
            } catch {
                #expect(error.localizedDescription.contains("does not speak the protocol"), "\(error)")
            }
        }
    }

    @Test func `A program that does not answer fails the calls, and is ended`() async throws {
        let service = StorageService(command: ["sh", "-c", "exec sleep 1000"], startTimeout: 0.1)
        do {
            _ = try await Storage.storage(service: service).ask(StorageCalls.ServicePing())
            Issue.record("A program that sleeps is a service")
        } catch {
            #expect(error.localizedDescription == "The service has not answered within 0.1 seconds of its start.")
        }
    }

    @Test func `A root in use is said, and how to share it`() async throws {
        try await ClientFixture.with { fixture in
            _ = try await fixture.storage.ask(StorageCalls.ServicePing())
            let flags = ["--harness", "--log-level", "error"]  // A harness does not wait for the root.
            let other = Storage.storage(service: ClientFixture.service(in: fixture.directory, flags: flags))
            do {
                _ = try await other.ask(StorageCalls.ServicePing())
                Issue.record("A root has two services")
            } catch {
                let text = error.localizedDescription
                #expect(text.contains("is in use by") && text.hasSuffix(" isShared of StorageService."), "\(text)")
            }
        }
    }

    @Test func `The end of a shared service is not that of its connection`() async throws {
        let fixture = try ClientFixture(flags: [])
        var service = ClientFixture.service(in: fixture.directory)
        service.isShared = true
        let storage = Storage.storage(service: service)
        let status = try await storage.ask(StorageCalls.ServiceStatus())
        let stream = storage.reference().child("a").putStream()
        try await stream.write(Data([1]))
        kill(pid_t(status.pid), SIGKILL)
        do {
            for _ in 0..<100 { _ = try await stream.write(Data([1])) }
            try await stream.finish()
            Issue.record("The service is gone")
        } catch {
            let text = error.localizedDescription
            #expect(text.hasPrefix("The connection to the shared service has ended with status 1: "), "\(text)")
            #expect(text.contains("is gone"), "\(text)")
        }
        await storage.close()
    }

    private struct Unknown: StorageCall {
        typealias Answer = StorageWire.Nothing
        static var method: String { "service/unknown" }
    }

    @Test func `A method that an older service lacks is an error with both versions`() async throws {
        func message(_ command: [String]) async throws -> String {
            try await ClientFixture.with(flags: [], command: command) { fixture in
                do {
                    _ = try await fixture.storage.ask(Unknown())
                    return "It is answered."
                } catch {
                    return error.localizedDescription
                }
            }
        }
        let script = #""$0" "$@" | exec sed -u 's/"version":"[0-9.]*"/"version":"0.0.9"/'"#
        let old = try await message(["sh", "-c", script, ServiceProcess.program, "serve"])
        let version = try await ClientFixture.with { try await $0.storage.ask(StorageCalls.ServiceStatus()).version }
        #expect(
            old
                == "The service (version 0.0.9) is older than the client (version \(version)) and lacks the method service/unknown."
        )
        let same = try await message([ServiceProcess.program, "serve"])
        #expect(same == #"There is no method "service/unknown"."#)
    }

    @Test func `A call of a Swift task that is cancelled already is not sent`() async throws {
        try await ClientFixture.with { fixture in
            try await fixture.root.child("a").putDataAsync(Data())
            let calls = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                let codes = [
                    await code { try await fixture.root.child("a").delete() },
                    await code { try await fixture.root.child("b").putDataAsync(Data()) },
                ]
                return codes
            }
            #expect(await calls.value == [.cancelled, .cancelled])
            #expect(try await fixture.root.listAll().items.map(\.name) == ["a"])
        }
    }

    @Test func `Clients of one process share a connection, and on a socket the service continues without them`()
        async throws
    {
        try await ClientFixture.with { fixture in
            let space = try await fixture.storage.ask(StorageCalls.HarnessSpace(keep: true))
            let service = StorageService(socket: space.socket)
            let storage = Storage.storage(service: service)
            #expect(storage === Storage.storage(service: service))
            #expect(storage == storage.copy() as? Storage && storage != fixture.storage)
            try await storage.reference().child("a").putDataAsync(Data("a".utf8))
            await storage.close()
            #expect(try await storage.reference().child("a").data(maxSize: 1) == Data("a".utf8))
            await storage.close()
        }
    }

    @Test func `Settings belong to a storage, though storages share the connection`() async throws {
        try await ClientFixture.with(flags: []) { fixture in
            let other = Storage.storage(service: fixture.storage.service, url: "gs://other")
            other.maxOperationRetryTime = 7
            other.uploadChunkSizeBytes = 1
            let first = try await other.ask(StorageCalls.StorageGetSettings())
            let second = try await fixture.storage.ask(StorageCalls.StorageGetSettings())
            let third = try await other.ask(StorageCalls.StorageGetSettings())
            #expect(first.uploadChunkSizeBytes == 256 << 10)
            #expect([first, second, third].map(\.maxOperationRetryTime) == [7, 120, 7])
            #expect(other.reference().bucket == "other" && other.uploadChunkSizeBytes == 1)
        }
    }

    @Test func `A default bucket that is not that of the service is refused by name`() async throws {
        try await ClientFixture.with { fixture in
            var service = fixture.storage.service
            service.root = fixture.directory.appending(path: "other").path
            service.flags = []
            service.command? += ["--bucket", "photos"]
            let storage = Storage.storage(service: service)
            #expect(await code { _ = try await storage.reference().listAll() } == .bucketMismatch)
            service.bucket = "photos"
            service.command?.removeLast(2)
            let photos = Storage.storage(service: service)
            try await photos.reference().child("a").putDataAsync(Data())
            #expect(try await photos.reference().listAll().items.map(\.description) == ["gs://photos/a"])
            await photos.close()
        }
    }

    @Test func `Cancelling the Swift task cancels a request`() async throws {
        try await ClientFixture.with { fixture in
            _ = try await fixture.storage.ask(StorageCalls.HarnessArm(on: [.list], do: .init(hold: true)))
            let list = Task { try await fixture.root.listAll() }
            try await eventually { try await fixture.settled().held.count == 1 }
            list.cancel()
            #expect(await code { _ = try await list.value } == .cancelled)
        }
    }

    @Test func `The emulator of a storage is another service, which asks for fresh tokens`() async throws {
        try await ClientFixture.with { fixture in
            let space = try await fixture.storage.ask(StorageCalls.HarnessSpace(keep: true, gateway: true))
            let address = try #require(space.gateway).split(separator: ":")
            let service = ClientFixture.service(in: fixture.directory.appending(path: "emulated"))
            let storage = Storage.storage(service: service)
            storage.useEmulator(withHost: String(address[0]), port: try #require(Int(address[1])))
            let refreshed = Heard()
            try await storage.setToken("e30.e30.old", expiresIn: 1) { kind in
                refreshed.append(kind == .idToken ? .resume : .unknown)
                return "e30.e30.new"
            }
            try await storage.reference().child("a").putDataAsync(Data("emulated".utf8))
            #expect(refreshed.statuses == [.resume])
            let inSpace = Storage.storage(service: StorageService(socket: space.socket))
            #expect(try await inSpace.reference().child("a").data(maxSize: 8) == Data("emulated".utf8))
            await inSpace.close()
            await storage.close()
        }
    }
}
