// `import FirebaseStorage`, as in code for the SDK, imports the client.
@_exported import StorageRPC
