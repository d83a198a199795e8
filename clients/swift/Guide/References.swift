import FirebaseStorage
import Foundation

// The page "Create a Cloud Storage reference".

func references() async throws {
    createAReference()
    let spaceRef = children(Storage.storage())
    navigate(spaceRef)
    properties(spaceRef)
    fullExample()
    try await limits(Storage.storage().reference())
}

private func createAReference() {
    let storage = Storage.storage()
    let storageRef = storage.reference()

    check(storageRef.fullPath.isEmpty, "the first reference is that of the root")
    check(storageRef == Storage.storage().reference(), "references are values")
}

private func children(_ storage: Storage) -> StorageReference {
    let storageRef = storage.reference()
    let your_firebase_storage_bucket = "gs://\(storageRef.bucket)"

    let imagesRef = storageRef.child("images")
    var spaceRef = storageRef.child("images/space.jpg")
    let spaceRefOfChild = spaceRef
    let storagePath = "\(your_firebase_storage_bucket)/images/space.jpg"
    spaceRef = storage.reference(forURL: storagePath)

    check(imagesRef.fullPath == "images", "imagesRef points to images")
    check(spaceRef == spaceRefOfChild && spaceRef.hash == spaceRefOfChild.hash, "the URL is the full reference")
    return spaceRef
}

private func navigate(_ spaceRef: StorageReference) {
    let imagesRef = spaceRef.parent()
    let rootRef = spaceRef.root()

    check(imagesRef?.fullPath == "images", "the parent is one level up")
    check(rootRef.fullPath.isEmpty, "the root is the top")

    let earthRef = spaceRef.parent()?.child("earth.jpg")
    let nilRef = spaceRef.root().parent()

    check(earthRef?.fullPath == "images/earth.jpg", "references are chained")
    check(nilRef == nil, "the parent of the root is nil")
}

private func properties(_ spaceRef: StorageReference) {
    _ = spaceRef.fullPath
    _ = spaceRef.name
    _ = spaceRef.bucket

    check(spaceRef.fullPath == "images/space.jpg", "fullPath is the path")
    check(spaceRef.name == "space.jpg", "the name is the last segment")
    check(spaceRef.bucket == "default-bucket", "the bucket is that of the storage")
}

private func fullExample() {
    let storageRef = Storage.storage().reference()
    let imagesRef = storageRef.child("images")
    let fileName = "space.jpg"
    let spaceRef = imagesRef.child(fileName)
    let path = spaceRef.fullPath
    let name = spaceRef.name
    let images = spaceRef.parent()

    check(path == "images/space.jpg" && name == "space.jpg" && images == imagesRef, "the full example is right")
}

private func limits(_ storageRef: StorageReference) async throws {
    let longest = storageRef.child(String(repeating: "a", count: 1024))
    try await longest.putDataAsync(Data())
    for path in ["a\nb", "a\rb", String(repeating: "a", count: 1025), String(repeating: "é", count: 513)] {
        let error = await failure { try await storageRef.child(path).putDataAsync(Data()) }
        let codes = [StorageErrorCode.invalidArgument, .pathError]
        check(codes.contains { $0.rawValue == error.code }, "\(error) refuses the path")
    }
    try await storageRef.child("images/日本語 #[]*?.jpg").putDataAsync(Data())
}
