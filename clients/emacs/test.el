;;; test.el --- The Emacs client against the real service  -*- lexical-binding: t; -*-

;;; Commentary:

;; STORAGE_RPC_PROGRAM=… emacs -Q --batch -l clients/emacs/test.el

;;; Code:

(require 'ert)
(require 'bytecomp)

(defconst storage-rpc-test-source
  (expand-file-name "storage-rpc.el" (file-name-directory (or load-file-name buffer-file-name))))
(defconst storage-rpc-test-program (or (getenv "STORAGE_RPC_PROGRAM") (error "STORAGE_RPC_PROGRAM names no program")))
(load storage-rpc-test-source nil t)

(defmacro storage-rpc-test (name &rest body)
  "Define the test NAME: BODY has a service and a `directory' of its own, and leaves no process."
  (declare (indent 1))
  `(ert-deftest ,name ()
     (let* ((directory (file-name-as-directory (make-temp-file "storage-rpc-" t)))
            (storage-rpc-command (list storage-rpc-test-program "--root" (concat directory "root")))
            (storage-rpc-token-function nil))
       (unwind-protect (progn ,@body)
         (let ((pid (and storage-rpc--connection
                         (process-id (jsonrpc--process storage-rpc--connection)))))
           (storage-rpc-shutdown)
           (when pid (storage-rpc-test-await (lambda () (not (process-attributes pid)))))
           (delete-directory directory t))))))

(defun storage-rpc-test-file (directory name size)
  "Make a file of SIZE bytes called NAME in DIRECTORY; return its path."
  (let ((file (concat directory name)))
    (call-process "truncate" nil nil nil "-s" (number-to-string size) file)
    file))

(defun storage-rpc-test-await (condition)
  "Wait until CONDITION returns non-nil, a minute at most as a safety net; return that."
  (with-timeout (60 (ert-fail "It has not come"))
    (let (value)
      (while (not (setq value (funcall condition))) (accept-process-output nil 0.05))
      value)))

(defun storage-rpc-test-hold ()
  "Let every upload stop before its second MiB, until `storage-rpc-test-release', in a service that has a harness."
  (storage-rpc--connect)
  (storage-rpc--call 'harness/arm '(:on "send" :at 1048576 :times nil :do (:hold t))))

(defun storage-rpc-test-release ()
  "Let the uploads go on."
  (storage-rpc--call 'harness/disarm nil))

(defun storage-rpc-test-hold-uploads ()
  "Let every upload stop before its second MiB, in a service of the test's own."
  (setq storage-rpc-command (append storage-rpc-command '("--harness")))
  (storage-rpc-test-hold))

(defmacro storage-rpc-test-shown (&rest body)
  "Return what the mode line has shown while BODY ran."
  `(let* (shown (watch (lambda (_symbol text &rest _) (when text (push text shown)))))
     (add-variable-watcher 'storage-rpc-mode-line watch)
     (unwind-protect (progn ,@body) (remove-variable-watcher 'storage-rpc-mode-line watch))
     shown))

(defun storage-rpc-test-put (file reference)
  "Upload FILE to REFERENCE; return the last snapshot."
  (let (last)
    (storage-rpc-put-file file reference (lambda (snapshot) (setq last snapshot)))
    (storage-rpc-test-await (lambda () last))))

(storage-rpc-test an-upload-shows-progress-and-ends
  (let ((shown (storage-rpc-test-shown
                (let ((last (storage-rpc-test-put (storage-rpc-test-file directory "large.mov" 5000000)
                                                  "videos/large.mov")))
                  (should (equal (plist-get last :status) "success"))
                  (should (equal (plist-get (plist-get last :metadata) :size) 5000000))))))
    (should (seq-some (lambda (text) (string-match-p "\\` ↑[1-9][0-9]*%\\'" text)) shown))
    (should-not storage-rpc-mode-line)
    (should (memq 'storage-rpc-mode-line global-mode-string))
    (should-not (storage-rpc--running))
    (with-current-buffer (messages-buffer)
      (should (string-search "stored as gs://default-bucket/videos/large.mov" (buffer-string))))))

(storage-rpc-test many-small-uploads-all-end
  (let ((file (storage-rpc-test-file directory "empty" 0)) (ended 0))
    (dotimes (index 20)
      (storage-rpc-put-file file (format "small/%d" index) (lambda (_) (cl-incf ended))))
    (storage-rpc-test-await (lambda () (= ended 20)))))

(storage-rpc-test a-missing-file-fails-with-code-and-name
  (let ((last (storage-rpc-test-put (concat directory "missing") "missing")))
    (should (equal (plist-get last :status) "failure"))
    (should (string-match-p "\\`unknown (-13000): .*missing" (storage-rpc--reason (plist-get last :error))))))

(storage-rpc-test what-is-no-reference-is-an-error
  (should (string-match-p "pathError (-13053)"
                          (cadr (should-error (storage-rpc-put-file storage-rpc-test-source "gs://"))))))

(storage-rpc-test an-upload-is-cancelled
  (storage-rpc-test-hold-uploads)
  (let* (last (upload (storage-rpc-put-file (storage-rpc-test-file directory "huge" 5000000) "huge"
                                            (lambda (snapshot) (setq last snapshot)))))
    (storage-rpc-test-await
     (lambda () (equal (plist-get (storage-rpc-transfer-snapshot upload) :status) "progress")))
    (call-interactively #'storage-rpc-cancel)
    (storage-rpc-test-await (lambda () last))
    (should (equal (plist-get last :state) "cancelled"))
    (should (equal (plist-get (plist-get last :error) :code) -13040))
    (should-not (storage-rpc--running))))

(storage-rpc-test odd-names
  (let ((name "a  \"b\"\n'c' \\d %20 #? $HOME é😀~.txt"))
    (should (equal (plist-get (storage-rpc-test-put (storage-rpc-test-file directory name 3) "o d\"d/é%41") :status)
                   "success"))
    (let ((metadata (storage-rpc-get-metadata "o d\"d/é%41")))
      (should (equal (plist-get metadata :fullPath) "o d\"d/é%41"))
      (should (equal (plist-get metadata :size) 3)))))

(storage-rpc-test metadata-is-shown
  (let ((reference (storage-rpc-reference "a/b.txt")))
    (storage-rpc--call 'reference/putData `(:reference ,reference :text "hi" :wait t
                                                       :metadata (:customMetadata (:colour "blue")))))
  (storage-rpc-get-metadata "gs://default-bucket/a/b.txt")
  (with-current-buffer "*storage-rpc metadata*"
    (should (string-match-p "^contentType +text/plain" (buffer-string)))
    (should (string-match-p "^  colour +blue$" (buffer-string))))
  (should (string-match-p "objectNotFound (-13010)" (cadr (should-error (storage-rpc-get-metadata "none"))))))

(storage-rpc-test tokens-come-from-a-function
  (let (asked)
    (setq storage-rpc-token-function (lambda (&rest why) (push why asked) '(:token "secret" :expiresIn 3600)))
    (storage-rpc-reference "a")
    (should (equal asked '((nil "start"))))
    (should (equal (storage-rpc--answer nil 'auth/refreshToken '(:kind "idToken" :reason "expired"))
                   '(:token "secret" :expiresIn 3600)))
    (should (equal (car asked) '("idToken" "expired")))
    (should-error (storage-rpc--answer nil 'no/such '()) :type 'jsonrpc-error)
    (dolist (buffer (buffer-list))
      (when (string-search "storage-rpc" (buffer-name buffer))
        (with-current-buffer buffer (should-not (string-search "secret" (buffer-string))))))))

(storage-rpc-test a-service-that-ends-fails-its-uploads
  (storage-rpc-test-hold-uploads)
  (let* (last (upload (storage-rpc-put-file (storage-rpc-test-file directory "huge" 5000000) "huge"
                                            (lambda (snapshot) (setq last snapshot)))))
    (storage-rpc-test-await (lambda () (storage-rpc-transfer-task upload)))
    (signal-process (jsonrpc--process storage-rpc--connection) 'KILL)
    (storage-rpc-test-await (lambda () last))
    (should (equal (plist-get last :status) "failure"))
    ;; And the next command starts it anew.
    (should (equal (plist-get (storage-rpc-reference "a") :fullPath) "a"))))

(storage-rpc-test a-service-that-has-just-ended-is-said
  (storage-rpc-reference "a")
  (let ((process (jsonrpc--process storage-rpc--connection)) said)
    (signal-process process 'KILL)
    (while (process-live-p process)) ; nobody has looked at it yet
    (storage-rpc--request 'service/ping nil (lambda (_ failure) (setq said (storage-rpc--reason failure))))
    (should (equal said "The service has ended"))))

(storage-rpc-test a-batch-run-survives-a-service-that-has-ended-before-it-is-written-to
  (let* ((closed (concat directory "closed"))
         (command (list "sh" "-c" (format "exec <&-; echo 'in use' >&2; : > %s" (shell-quote-argument closed))))
         (program `(let ((storage-rpc-command ',command) (noninteractive t))
                     (advice-add 'storage-rpc--open :filter-return
                                 (lambda (process) (while (not (file-exists-p ,closed))) process))
                     (condition-case failure (storage-rpc-reference "a") (error (princ (cadr failure)))))))
    (with-temp-buffer
      (should (equal (call-process (concat invocation-directory invocation-name) nil t nil "-Q" "--batch"
                                   "-l" storage-rpc-test-source "--eval" (prin1-to-string program))
                     0))
      (should (string-search "The service has ended: in use" (buffer-string))))))

(storage-rpc-test a-url-is-no-name-of-a-file
  (dolist (file '("file:///tmp/a" "file:/tmp/a" "https://h/a?token=SECRET" "gs://b/a"))
    (let ((failure (cadr (should-error (storage-rpc-put-file file "a") :type 'user-error))))
      (should (string-prefix-p "A URL is no name of a file" failure))
      (should-not (string-search "SECRET" failure)))))

(storage-rpc-test what-has-not-ended-is-cancelled-at-the-end
  (let ((upload (storage-rpc-put-file (storage-rpc-test-file directory "huge" 8589934592) "huge")))
    (storage-rpc-test-await (lambda () (storage-rpc-transfer-task upload)))
    (storage-rpc-shutdown)
    (storage-rpc-reference "a")
    (should (equal (mapcar (lambda (task) (plist-get task :state))
                           (plist-get (storage-rpc--call 'uploadTask/list nil) :tasks))
                   '("cancelled")))))

(storage-rpc-test a-program-that-is-not-there-is-an-error
  (let ((storage-rpc-command '("/no/such/program")))
    (should-error (storage-rpc-reference "a")))
  (let ((storage-rpc-command '("false")))
    (should-error (storage-rpc-reference "a"))))

(ert-deftest emacs-takes-the-service-along ()
  (let* ((directory (file-name-as-directory (make-temp-file "storage-rpc-" t)))
         (storage-rpc-command (list storage-rpc-test-program "--root" (concat directory "root")))
         (form `(progn (load ,storage-rpc-test-source nil t)
                       (setq storage-rpc-command ',storage-rpc-command)
                       (storage-rpc-reference "a")
                       (princ (process-id (jsonrpc--process storage-rpc--connection))))))
    (with-temp-buffer
      (should (equal 0 (call-process (expand-file-name invocation-name invocation-directory) nil '(t nil) nil
                                     "-Q" "--batch" "--eval" (prin1-to-string form))))
      (should (> (string-to-number (buffer-string)) 1))
      (storage-rpc-test-await (lambda () (not (process-attributes (string-to-number (buffer-string)))))))
    (delete-directory directory t)))

(storage-rpc-test a-transfer-is-paused-and-resumed
  (storage-rpc-test-hold-uploads)
  (let* (last (upload (storage-rpc-put-file (storage-rpc-test-file directory "large" 5000000) "large"
                                            (lambda (snapshot) (setq last snapshot)))))
    (storage-rpc-test-await
     (lambda () (equal (plist-get (storage-rpc-transfer-snapshot upload) :status) "progress")))
    (should-error (call-interactively #'storage-rpc-resume) :type 'user-error)
    (call-interactively #'storage-rpc-retry)
    (storage-rpc-test-await (lambda () (string-search "large is running" (storage-rpc-test-messages))))
    (call-interactively #'storage-rpc-pause)
    (storage-rpc-test-await (lambda () (equal (storage-rpc--state upload) "paused")))
    (should (string-search "large: the upload has begun" (storage-rpc-test-messages)))
    (should (string-match-p "large: paused at [0-9]+%" (storage-rpc-test-messages)))
    (should-error (call-interactively #'storage-rpc-pause) :type 'user-error)
    (storage-rpc-test-release)
    (call-interactively #'storage-rpc-resume)
    (storage-rpc-test-await (lambda () last))
    (should (equal (plist-get last :status) "success"))))

(storage-rpc-test what-is-said-before-an-upload-has-begun-is-done-in-order
  (let* (last (upload (storage-rpc-put-file (storage-rpc-test-file directory "early" 5000000) "early"
                                            (lambda (snapshot) (setq last snapshot)))))
    (storage-rpc-pause upload)
    (storage-rpc-resume upload)
    (storage-rpc-test-await (lambda () last))
    (should (equal (plist-get last :status) "success"))
    (should (string-match-p "early: paused" (storage-rpc-test-messages)))))

(storage-rpc-test a-file-is-downloaded
  (storage-rpc-test-put (storage-rpc-test-file directory "plain.txt" 5) "plain.txt")
  (let ((copy (concat directory "copy.txt")) last)
    (storage-rpc-get-file "plain.txt" copy (lambda (snapshot) (setq last snapshot)))
    (storage-rpc-test-await (lambda () last))
    (should (equal (file-attribute-size (file-attributes copy)) 5))
    (should (string-search "copy.txt: downloaded from gs://default-bucket/plain.txt" (storage-rpc-test-messages)))
    (setq last nil)
    (storage-rpc-get-file "none" copy (lambda (snapshot) (setq last snapshot)))
    (storage-rpc-test-await (lambda () last))
    (should (equal (plist-get (plist-get last :error) :code) -13010))))

(defun storage-rpc-test-tree (directory)
  "Make a directory with two files, one of them large, in DIRECTORY; return its path."
  (let ((tree (concat directory "tree/")))
    (make-directory (concat tree "deep") t)
    (storage-rpc-test-file tree "large" 5000000)
    (storage-rpc-test-file tree "deep/small" 5)
    tree))

(storage-rpc-test a-directory-is-uploaded-and-downloaded
  (let* (last
         (shown (storage-rpc-test-shown
                 (storage-rpc-put-directory (storage-rpc-test-tree directory) "photos"
                                            (lambda (snapshot) (setq last snapshot)))
                 (storage-rpc-test-await (lambda () last)))))
    (should (equal (plist-get last :status) "success"))
    (should (equal (plist-get (plist-get last :files) :completed) 2))
    (should (string-match-p "tree: .* ([0-9] of 2 files)" (get-text-property 0 'help-echo (car shown))))
    (should (string-search "tree: 2 files stored below gs://default-bucket/photos, 0 unchanged, 0 refused"
                           (storage-rpc-test-messages)))
    (should-not (storage-rpc--running))
    (setq last nil)
    (storage-rpc-write-directory "photos" (concat directory "copy") (lambda (snapshot) (setq last snapshot))
                                 :exclude ["large"])
    (storage-rpc-test-await (lambda () last))
    (should (equal (plist-get (plist-get last :files) :completed) 1))
    (should (equal (file-attribute-size (file-attributes (concat directory "copy/deep/small"))) 5))
    (should-not (file-exists-p (concat directory "copy/large")))))

(storage-rpc-test a-directory-is-cancelled
  (storage-rpc-test-hold-uploads)
  (let ((tree (storage-rpc-test-tree directory)) last)
    (storage-rpc-test-file tree "huge" 5000000)
    (let ((folder (storage-rpc-put-directory tree "photos" (lambda (snapshot) (setq last snapshot)))))
      (storage-rpc-test-await
       (lambda () (equal (plist-get (storage-rpc-transfer-snapshot folder) :status) "progress")))
      (call-interactively #'storage-rpc-cancel)
      (storage-rpc-test-await (lambda () last))
      (should (equal (plist-get (plist-get last :error) :code) -13040)))))

(storage-rpc-test what-a-directory-has-refused-is-shown
  (let ((tree (storage-rpc-test-tree directory)) last)
    (make-symbolic-link "large" (concat tree "link"))
    (storage-rpc-put-directory tree "photos" (lambda (snapshot) (setq last snapshot)))
    (storage-rpc-test-await (lambda () last))
    (should (equal (plist-get (plist-get last :files) :refused) 1))
    (storage-rpc-test-await (lambda () (get-buffer "*storage-rpc failures*")))
    (with-current-buffer "*storage-rpc failures*"
      (should (string-match-p "^link: .+ (-13[0-9]+): .+" (buffer-string)))
      (kill-buffer))
    (setq last nil)
    (storage-rpc-put-directory (concat directory "none") "photos" (lambda (snapshot) (setq last snapshot)))
    (storage-rpc-test-await (lambda () last))
    (should (equal (plist-get last :status) "failure"))))

(storage-rpc-test changes-are-heard
  (let* ((file (storage-rpc-test-file directory "plain.txt" 3)) heard
         (handle (storage-rpc-observe "uploads" (lambda (change) (push change heard)))))
    (storage-rpc-test-put file "other")
    (storage-rpc-test-put file "uploads/a")
    (storage-rpc-test-await (lambda () heard))
    (should (equal (plist-get (car heard) :change) "created"))
    (should (equal (plist-get (plist-get (car heard) :reference) :url) "gs://default-bucket/uploads/a"))
    (storage-rpc-unobserve handle)
    (storage-rpc-test-put file "uploads/b")
    (should-not (cdr heard))
    (storage-rpc-observe "uploads" (lambda (change) (push change heard)))
    (signal-process (jsonrpc--process storage-rpc--connection) 'KILL)
    (storage-rpc-test-await (lambda () (cdr heard)))
    (should (equal (car heard) nil))))

(storage-rpc-test changes-are-logged
  (storage-rpc-observe "")
  (storage-rpc-test-put (storage-rpc-test-file directory "plain.txt" 3) "a")
  (storage-rpc-test-await (lambda () (get-buffer "*storage-rpc changes*")))
  (with-current-buffer "*storage-rpc changes*"
    (should (string-match-p "^[0-9:]+ created gs://default-bucket/a$" (buffer-string)))
    (kill-buffer))
  (call-interactively #'storage-rpc-unobserve)
  (should (hash-table-empty-p storage-rpc--observers)))

(defun storage-rpc-test-messages ()
  "Return what was said."
  (with-current-buffer (messages-buffer) (buffer-string)))

(defun storage-rpc-test-serve (&rest flags)
  "Start a service with FLAGS, and return the process when it listens.
With --stdio, so that it ends with Emacs, however that ends."
  (let* ((answer "")
         (service (make-process :name "service" :connection-type 'pipe :noquery t
                                :command `(,storage-rpc-test-program "serve" "--stdio" ,@flags)
                                :filter (lambda (_ text) (setq answer (concat answer text))))))
    ;; Its answer on stdout tells that it listens: the socket is opened before stdin is read.
    (process-send-string service "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"service/ping\"}\n")
    (storage-rpc-test-await (lambda () (string-search "pong" answer)))
    service))

(defun storage-rpc-test-serve-socket (directory)
  "Start a service of the root in DIRECTORY on a socket there, and return the process."
  (storage-rpc-test-serve "--root" (concat directory "root") "--socket" (concat directory "socket")))

(defun storage-rpc-test-serve-shared (directory)
  "Start the service with a harness that a test in DIRECTORY shares."
  (storage-rpc-test-serve "--root" (concat directory "storage-rpc") "--shared" "--harness"))

(defmacro storage-rpc-test-sharing (name &rest body)
  "Define the test NAME: as `storage-rpc-test', but BODY shares the service of its root."
  (declare (indent 1))
  `(storage-rpc-test ,name
     (let* ((process-environment (cons (concat "XDG_DATA_HOME=" directory)
                                       (cons (concat "STORAGE_RPC=" storage-rpc-test-program) process-environment)))
            (storage-rpc-command nil))
       (unwind-protect (progn ,@body)
         (storage-rpc--connect)
         (let ((pid (plist-get (storage-rpc--call 'service/status nil) :pid)))
           (storage-rpc--call 'service/stop nil)
           (storage-rpc-test-await (lambda () (not (process-attributes pid)))))))))

(storage-rpc-test-sharing transfers-go-on-without-emacs
  (storage-rpc-test-serve-shared directory)
  (storage-rpc-test-hold)
  (let ((upload (storage-rpc-put-file (storage-rpc-test-file directory "huge" 5000000) "huge")))
    (storage-rpc-test-await (lambda () (storage-rpc-transfer-task upload)))
    (storage-rpc-shutdown)
    (let ((same (storage-rpc--choose "" "running")))
      (should (equal (storage-rpc-transfer-task same) (storage-rpc-transfer-task upload)))
      (storage-rpc-pause same)
      (storage-rpc-test-await (lambda () (equal (storage-rpc--state same) "paused"))))
    (storage-rpc-shutdown)
    (let ((same (storage-rpc--choose "" "paused")))
      (storage-rpc-cancel same)
      (storage-rpc-test-await (lambda () (equal (storage-rpc--state same) "cancelled"))))
    (should-error (storage-rpc--choose "" "queued" "running" "paused") :type 'user-error)))

(storage-rpc-test-sharing what-an-earlier-session-has-left-is-followed-when-it-is-resumed
  (storage-rpc-test-serve-shared directory)
  (storage-rpc-test-hold)
  (let ((upload (storage-rpc-put-file (storage-rpc-test-file directory "large" 5000000) "large")))
    (storage-rpc-test-await (lambda () (storage-rpc-transfer-task upload)))
    (storage-rpc-pause upload)
    (storage-rpc-test-await (lambda () (equal (storage-rpc--state upload) "paused")))
    (storage-rpc-shutdown)
    (should-not storage-rpc-mode-line)
    (let ((shown (storage-rpc-test-shown
                  (call-interactively #'storage-rpc-resume)
                  (storage-rpc-test-await (lambda () storage-rpc-mode-line))
                  (storage-rpc-test-release)
                  (storage-rpc-test-await
                   (lambda () (string-search "gs://default-bucket/large: stored as" (storage-rpc-test-messages)))))))
      (should (seq-some (lambda (text) (string-match-p "\\` ↑[0-9]+%\\'" text)) shown))
      (should-not storage-rpc-mode-line)
      (should-not (storage-rpc--running)))))

(storage-rpc-test-sharing two-emacsen-share-a-root
  (should (equal (plist-get (storage-rpc-test-put (storage-rpc-test-file directory "mine" 3) "mine") :status) "success"))
  (let ((form `(progn (load ,storage-rpc-test-source nil t)
                      (princ (plist-get (storage-rpc-get-metadata "mine") :size))
                      (let (last)
                        (storage-rpc-put-file ,(storage-rpc-test-file directory "theirs" 4) "theirs"
                                              (lambda (snapshot) (setq last snapshot)))
                        (while (not last) (accept-process-output nil 0.05))
                        (princ (plist-get last :status))))))
    (with-temp-buffer
      (should (equal 0 (call-process (expand-file-name invocation-name invocation-directory) nil '(t nil) nil
                                     "-Q" "--batch" "--eval" (prin1-to-string form))))
      (should (equal (buffer-string) "3success"))))
  (should (equal (plist-get (storage-rpc-get-metadata "theirs") :size) 4)))

(storage-rpc-test a-root-in-use-is-said
  (let ((service (storage-rpc-test-serve-socket directory)))
    (unwind-protect
        (let* ((storage-rpc-command (append storage-rpc-command '("--max-tasks" "9")))
               (sentence (cadr (should-error (storage-rpc-reference "a")))))
          (should (string-search (format "is in use by process %d" (process-id service)) sentence))
          (should (string-search "storage-rpc connect" sentence)))
      (delete-process service))))

(storage-rpc-test a-socket-is-connected-to
  (let ((service (storage-rpc-test-serve-socket directory))
        (storage-rpc-socket (concat directory "socket")))
    (unwind-protect
        (progn
          (storage-rpc-test-put (storage-rpc-test-file directory "plain.txt" 3) "plain.txt")
          (should (equal (plist-get (storage-rpc-get-metadata "plain.txt") :size) 3))
          (storage-rpc-shutdown)
          (should (process-live-p service)))
      (delete-process service)))
  (let ((storage-rpc-socket "/no/such/socket"))
    (should (string-match-p "No service can be reached at /no/such/socket: No such file"
                            (cadr (should-error (storage-rpc-reference "a") :type 'user-error))))))

(ert-deftest it-compiles-without-warnings ()
  (let ((byte-compile-error-on-warn t)
        (byte-compile-dest-file-function (lambda (_) (make-temp-file "storage-rpc-" nil ".elc"))))
    (should (byte-compile-file storage-rpc-test-source))))

(ert-run-tests-batch-and-exit)
;;; test.el ends here
