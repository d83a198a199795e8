extension StorageError {
    package static func sizeExceeded(_ reference: Reference, _ size: Int64, _ maxSize: Int64) -> StorageError {
        StorageError(
            .downloadSizeExceeded,
            """
            Object \(reference.object) has \(size) bytes, \
            which exceeds the maximum of \(maxSize) bytes.
            """
        ).about(reference)
    }

    package static var urlsDoNotExpire: StorageError {
        .invalidArgument(
            "expiresIn", "Download URLs of this engine hold until they are revoked; only signed ones end by themselves."
        )
    }
}
