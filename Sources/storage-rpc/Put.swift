enum Put { static func run(_ p: PutCommand) throws -> Never { fatalError() } }
