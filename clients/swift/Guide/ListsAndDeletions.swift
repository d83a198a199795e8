import FirebaseStorage
import Foundation

// The pages "Delete files with Cloud Storage" and "List files with Cloud Storage".

func deletions(_ storageRef: StorageReference) async throws {
    let desertRef = storageRef.child("desert.jpg")
    try await desertRef.putDataAsync(Data("Hello, world!".utf8))
    do {
        try await desertRef.delete()
    } catch {
        check(false, "a file can be deleted: \(error)")
    }

    let code: Int? = await called { done in
        desertRef.delete { error in done((error as NSError?)?.code) }
    }
    check(code == StorageErrorCode.objectNotFound.rawValue, "what is not there cannot be deleted")
}

func lists(_ storage: Storage) async throws {
    let storageReference = storage.reference().child("files/uid")
    for name in ["a.txt", "b.txt", "c/d.txt", "e/f.txt"] {
        try await storageReference.child(name).putDataAsync(Data("Hello, world!".utf8))
    }
    await all(storageReference)
    try await pages(storageReference)
}

private func all(_ storageReference: StorageReference) async {
    do {
        let result = try await storageReference.listAll()
        for prefix in result.prefixes {
            check(prefix.parent() == storageReference, "a prefix is a reference below the list")
        }
        for item in result.items {
            check(item.parent() == storageReference, "an item is a reference below the list")
        }
        check(result.prefixes.map(\.name) == ["c", "e"], "the prefixes are the folders")
        check(result.items.map(\.name) == ["a.txt", "b.txt"], "the items are the objects")
    } catch {
        check(false, "files can be listed: \(error)")
    }

    let count: Int? = await called { done in storageReference.listAll { result, error in done(result?.items.count) } }
    check(count == 2, "a completion has the result")
}

private func pages(_ storageReference: StorageReference) async throws {
    func listAllPaginated(pageToken: String? = nil) async throws -> [String] {
        let listResult: StorageListResult
        if let pageToken {
            listResult = try await storageReference.list(maxResults: 3, pageToken: pageToken)
        } else {
            listResult = try await storageReference.list(maxResults: 3)
        }
        let names = (listResult.prefixes + listResult.items).map(\.name)
        check(names.count <= 3, "a page has at most maxResults")
        guard let token = listResult.pageToken else { return names }
        return names + (try await listAllPaginated(pageToken: token))
    }

    check(try await listAllPaginated().sorted() == ["a.txt", "b.txt", "c", "e"], "the pages have all")
    let error = await failure { _ = try await storageReference.list(maxResults: 0) }
    check(error.code == StorageErrorCode.invalidArgument.rawValue, "a page has at least one")
}
