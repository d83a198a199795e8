import FirebaseStorage
import Foundation

// The page "Use file metadata with Cloud Storage".

func metadata(_ storageRef: StorageReference) async throws {
    let language = StorageMetadata()
    language.contentLanguage = "en"
    try await storageRef.child("images/forest.jpg").putDataAsync(Data("Hello, world!".utf8), metadata: language)
    await get(storageRef)
    await update(storageRef)
    await remove(storageRef.child("images/forest.jpg"))
    try await custom(storageRef.child("images/forest.jpg"))
    let error = await failure { _ = try await storageRef.child("images/nothing.jpg").getMetadata() }
    check(error.code == StorageErrorCode.objectNotFound.rawValue, "what is not there has no metadata")
}

private func get(_ storageRef: StorageReference) async {
    let forestRef = storageRef.child("images/forest.jpg")
    do {
        let metadata = try await forestRef.getMetadata()

        check(metadata.bucket == storageRef.bucket && metadata.name == "forest.jpg", "metadata has bucket and name")
        check(metadata.path == "images/forest.jpg" && metadata.size == 13, "metadata has path and size")
        check(metadata.generation > 0 && metadata.metageneration == 1, "metadata has its generations")
        check(metadata.timeCreated != nil && metadata.updated != nil, "metadata has its times")
        check(metadata.md5Hash == "bNNVbesNpUvKBgtMOUeYOQ==" && metadata.isFile, "metadata has the checksum")
        check(metadata.contentLanguage == "en" && metadata.contentType == "image/jpeg", "metadata has the types")
    } catch {
        check(false, "metadata can be read: \(error)")
    }
}

private func update(_ storageRef: StorageReference) async {
    let forestRef = storageRef.child("images/forest.jpg")
    let newMetadata = StorageMetadata()
    newMetadata.cacheControl = "public,max-age=300"
    newMetadata.contentType = "image/jpeg"
    do {
        let updatedMetadata = try await forestRef.updateMetadata(newMetadata)

        check(updatedMetadata.cacheControl == "public,max-age=300", "a property is changed")
        check(updatedMetadata.contentLanguage == "en", "all others are unchanged")
    } catch {
        check(false, "metadata can be changed: \(error)")
    }
}

private func remove(_ forestRef: StorageReference) async {
    let newMetadata = StorageMetadata()
    newMetadata.contentType = nil
    do {
        let updatedMetadata = try await forestRef.updateMetadata(newMetadata)

        // The servers of Firebase give an object without a type this one.
        let without = [nil, "application/octet-stream"]
        check(without.contains(updatedMetadata.contentType), "a property that is set to nil is removed")
        check(updatedMetadata.cacheControl != nil, "all others are unchanged")
    } catch {
        check(false, "metadata can be removed: \(error)")
    }
}

private func custom(_ forestRef: StorageReference) async throws {
    let metadata = [
        "customMetadata": [
            "location": "Yosemite, CA, USA",
            "activity": "Hiking",
        ]
    ]

    let newMetadata = StorageMetadata()
    newMetadata.customMetadata = metadata["customMetadata"]
    let updated = try await forestRef.updateMetadata(newMetadata)
    check(updated.customMetadata == metadata["customMetadata"], "custom metadata is stored")
    updated.customMetadata?["activity"] = nil
    let removed = try await forestRef.updateMetadata(updated)
    check(removed.customMetadata == ["location": "Yosemite, CA, USA"], "one key is removed")
    removed.customMetadata = nil
    check(try await forestRef.updateMetadata(removed).customMetadata == nil, "all keys are removed")
}
