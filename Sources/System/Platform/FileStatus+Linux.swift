import Glibc

extension stat {
    var modificationTime: timespec { st_mtim }
    var changeTime: timespec { st_ctim }
}
