;;; storage-rpc.el --- Cloud Storage for Firebase, through storage-rpc -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Author: storage-rpc
;; Package-Requires: ((emacs "28.1"))
;; Keywords: comm, files

;;; Commentary:

;; `M-x storage-rpc-put-file' uploads a file, `M-x storage-rpc-get-file' downloads one,
;; `storage-rpc-put-directory' and `storage-rpc-write-directory' do so with all files of a directory,
;; `M-x storage-rpc-pause', `storage-rpc-resume', `storage-rpc-retry' and `storage-rpc-cancel' control transfers,
;; `M-x storage-rpc-get-metadata' shows the metadata of an object, and `M-x storage-rpc-observe' logs what happens to
;; the objects below a reference.  The first command connects to the service that
;; all clients of the root share, and starts it if there is none.  Transfers continue when Emacs ends; those that an
;; earlier session has left are controlled by the same commands.  The mode line shows how far transfers are.

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'subr-x)

(defgroup storage-rpc nil "Cloud Storage for Firebase." :group 'comm :prefix "storage-rpc-")

(defcustom storage-rpc-command nil
  "The program and its flags.
Nil for `storage-rpc connect', the service that all clients of the root
share; the program is $STORAGE_RPC, else storage-rpc on the PATH.  A command
without `connect' starts a private service, which ends with Emacs."
  :type '(choice (const :tag "The shared service" nil) (repeat string)))

(defcustom storage-rpc-socket nil
  "The Unix socket of a running service, used instead of a command."
  :type '(choice (const :tag "None" nil) file))

(defcustom storage-rpc-token-function nil
  "Function that returns a token, or nil where there are no tokens.
It is called with KIND and REASON: \"idToken\", \"accessToken\",
\"appCheckToken\" or \"accessKey\", and \"expired\" or \"refused\"; once at
the start with nil and \"start\", for the kind that the engine takes.  It
returns a string, \(:token STRING :expiresIn SECONDS), or nil; it must not wait
for the service."
  :type '(choice (const :tag "No tokens" nil) function))

(cl-defstruct (storage-rpc-transfer (:constructor storage-rpc--transfer) (:copier nil))
  "An upload, a download or a folder, as KIND says; its newest snapshot, a plist, and what is called with the last.
WANTED is what it is told, the newest first, before it has begun.
OTHER is non-nil while nobody here hears of it."
  kind name task wanted snapshot then other)

(defvar storage-rpc--connection nil "The connection, or nil before it is needed.")
(defvar storage-rpc--shared nil "Non-nil where the service is not of Emacs alone.")
(defvar storage-rpc--transfers (make-hash-table :test #'equal) "What was begun here and has not ended, by task.")
(defvar storage-rpc--observers (make-hash-table :test #'equal)
  "What is called with each change, by the handle of its observer.
A list of changes where they came before the handle.")
(defvar storage-rpc-mode-line nil "How far transfers are, for the mode line; nil if there is none.")
(put 'storage-rpc-mode-line 'risky-local-variable t) ; else it would lose its tooltip
(defvar storage-rpc--history nil "References that were asked for.")

(defun storage-rpc--command ()
  "Return the program and its flags."
  (let ((command (or storage-rpc-command (list (or (getenv "STORAGE_RPC") "storage-rpc") "connect"))))
    (unless (executable-find (car command))
      (user-error "There is no program %s: see `storage-rpc-command' and $STORAGE_RPC" (car command)))
    command))

(defun storage-rpc--shielded (command)
  "Return COMMAND, in batch mode within a shell that leaves a reader of its input.
There a write to a pipe that nobody reads ends Emacs by SIGPIPE."
  (if noninteractive
      `("sh" "-c" "exec 3<&0; \"$@\" 3<&-; cat <&3 > /dev/null 2>&1 &" "sh" ,@command)
    command))

(defun storage-rpc--open ()
  "Return a process that speaks with a service."
  (if storage-rpc-socket
      (condition-case failure
          (make-network-process :name "storage-rpc" :family 'local :noquery t :coding 'utf-8-emacs-unix
                                :service (expand-file-name storage-rpc-socket))
        (file-error (user-error "No service can be reached at %s: %s" storage-rpc-socket (nth 2 failure))))
    (let ((process (make-process
                    :name "storage-rpc" :command (storage-rpc--shielded (storage-rpc--command)) :connection-type 'pipe :noquery t
                    :coding 'utf-8-emacs-unix :stderr (get-buffer-create "*storage-rpc stderr*"))))
      (set-process-sentinel (get-buffer-process "*storage-rpc stderr*") #'ignore) ; which would write into it
      process)))

(defun storage-rpc--connect ()
  "Return the connection, after starting the service where it does not run."
  (when (and noninteractive storage-rpc-socket storage-rpc--connection) ; may have ended, see `storage-rpc--shielded'
    (accept-process-output (jsonrpc--process storage-rpc--connection) 0))
  (unless (and storage-rpc--connection (jsonrpc-running-p storage-rpc--connection))
    (setq storage-rpc--shared (or storage-rpc-socket (equal (cadr (storage-rpc--command)) "connect"))
          storage-rpc--connection
          (make-instance
           'jsonrpc-process-connection
           :name "storage-rpc"
           :events-buffer-scrollback-size 0 ; no token in a buffer
           :request-dispatcher #'storage-rpc--answer
           :notification-dispatcher #'storage-rpc--hear
           :on-shutdown #'storage-rpc--ended
           :process #'storage-rpc--open))
    (add-hook 'kill-emacs-hook #'storage-rpc-shutdown)
    (storage-rpc--call 'initialize `(:protocolVersion 1 :client (:name "emacs" :version ,emacs-version)))
    (when-let ((token (storage-rpc--token nil "start")))
      (storage-rpc--call 'auth/setToken token)))
  storage-rpc--connection)

(defun storage-rpc--last-words (connection)
  "Return the error object for CONNECTION, which has ended.
It tells what the process wrote last, if anything."
  (let* ((buffer (jsonrpc-stderr-buffer connection))
         (process (and (buffer-live-p buffer) (get-buffer-process buffer))))
    (with-timeout (1)
      (while (and process (process-live-p process)) (accept-process-output process 0.1)))
    (let ((lines (and (buffer-live-p buffer)
                      (with-current-buffer buffer (split-string (buffer-string) "\n" t)))))
      (list :code -1 :message (string-join (cons "The service has ended" (last lines)) ": ")))))

(defun storage-rpc--request (method params then)
  "Ask for METHOD with PARAMS; call THEN with result and nil, or nil and error."
  (let ((connection storage-rpc--connection))
    (condition-case failure
        (jsonrpc-async-request
         connection method params :timeout nil
         :success-fn (lambda (result) (funcall then result nil))
         :error-fn (lambda (failure)
                     (funcall then nil (if (jsonrpc-running-p connection) failure
                                         (storage-rpc--last-words connection)))))
      (error ; the process has ended, and Emacs has not looked yet
       (when (and (jsonrpc-running-p connection) (not (eq (car failure) 'file-error)))
         (signal (car failure) (cdr failure)))
       (funcall then nil (storage-rpc--last-words connection))))))

(defun storage-rpc--call (method params &optional take)
  "Return the result of METHOD with PARAMS, or signal its error.
Call TAKE with the result before anything behind the answer is read,
which `jsonrpc-request' leaves unread."
  (let (result failure done)
    (storage-rpc--request method params (lambda (value why)
                                          (setq result value failure why done t)
                                          (when (and take (not why)) (funcall take value))))
    (while (not done) (accept-process-output nil 0.1))
    (when failure
      (error "%s" (storage-rpc--reason failure)))
    result))

(defun storage-rpc--reason (failure)
  "Return the sentence for FAILURE, an error object."
  (if (eql (plist-get failure :code) -1)
      (plist-get failure :message)
    (format "%s (%s): %s" (or (plist-get (plist-get failure :data) :name) "error")
            (plist-get failure :code) (plist-get failure :message))))

(defun storage-rpc--token (kind reason)
  "Return the params of a token of KIND, asked for because of REASON, or nil."
  (let ((token (and storage-rpc-token-function (funcall storage-rpc-token-function kind reason))))
    (if (stringp token) (list :token token) token)))

(defun storage-rpc--answer (_connection method params)
  "Answer METHOD with PARAMS, which the service asks."
  (unless (eq method 'auth/refreshToken)
    (jsonrpc-error :code -32601 :message (format "There is no method %s here." method)))
  (or (storage-rpc--token (plist-get params :kind) (plist-get params :reason))
      (jsonrpc-error :code -32603 :message "There is no token.")))

(defun storage-rpc--hear (_connection method params)
  "Take in the event METHOD with PARAMS."
  (when (eq method 'storage/changed)
    (storage-rpc--hear-change (plist-get params :handle) params))
  (when (memq method '(uploadTask/event downloadTask/event folderTask/event))
    (let* ((snapshot (plist-get params :snapshot))
           (transfer (gethash (plist-get snapshot :task) storage-rpc--transfers)))
      (if (storage-rpc-transfer-p transfer)
          (storage-rpc--show transfer snapshot)
        ;; Newer versions of jsonrpc.el may deliver an event before the answer that it stood behind.
        (puthash (plist-get snapshot :task) snapshot storage-rpc--transfers)))))

(defun storage-rpc--percent (snapshot)
  "Return how far SNAPSHOT is."
  (floor (* 100 (plist-get (plist-get snapshot :progress) :fractionCompleted))))

(defun storage-rpc--show (transfer snapshot)
  "Show how far TRANSFER is by its SNAPSHOT."
  (setf (storage-rpc-transfer-snapshot transfer) snapshot)
  (let ((name (storage-rpc-transfer-name transfer)))
    (pcase (plist-get snapshot :status)
      ("pause" (message "%s: paused at %d%%" name (storage-rpc--percent snapshot)))
      ("progress"
       (when-let ((retry (plist-get snapshot :retry)))
         (message "%s: %s Attempt %d of %s, next at %s." name (plist-get (plist-get retry :error) :message)
                  (plist-get retry :attempt) (plist-get retry :of) (plist-get retry :at))))
      ("success" (storage-rpc--end transfer (storage-rpc--success transfer snapshot)))
      ("failure" (storage-rpc--end transfer (storage-rpc--reason (plist-get snapshot :error))))))
  (storage-rpc--show-all))

(defun storage-rpc--show-all ()
  "Show in the mode line how far the transfers are."
  (setq storage-rpc-mode-line
        (when-let ((transfers (storage-rpc--running)))
          (propertize
           (concat " " (mapconcat (lambda (transfer) (concat (storage-rpc--mark transfer) (storage-rpc--far transfer)))
                                  (seq-take transfers 3) " ")
                   (and (nthcdr 3 transfers) "…"))
           'help-echo (mapconcat #'storage-rpc--sentence transfers "\n"))))
  (let ((before (if (listp global-mode-string) (or global-mode-string '("")) (list global-mode-string))))
    (unless (or (null storage-rpc-mode-line) (memq 'storage-rpc-mode-line before))
      (setq global-mode-string (append before '(storage-rpc-mode-line)))))
  (force-mode-line-update t))

(defun storage-rpc--sentence (transfer)
  "Return the name of TRANSFER, and how far it is."
  (format "%s: %s%s" (storage-rpc-transfer-name transfer) (storage-rpc--far transfer)
          (or (storage-rpc--files (storage-rpc-transfer-snapshot transfer)) "")))

(defun storage-rpc--mark (transfer)
  "Return an arrow that shows where the bytes of TRANSFER go."
  (let ((kind (or (plist-get (storage-rpc-transfer-snapshot transfer) :kind) (storage-rpc-transfer-kind transfer))))
    (if (member kind '("download" "write")) "↓" "↑")))

(defun storage-rpc--far (transfer)
  "Return how far TRANSFER is, or why it does not go on."
  (let ((snapshot (storage-rpc-transfer-snapshot transfer)))
    (concat (format "%d%%" (storage-rpc--percent snapshot))
            (cond ((plist-get snapshot :retry) " waiting")
                  ((equal (plist-get snapshot :state) "running") "")
                  (t (concat " " (plist-get snapshot :state)))))))

(defun storage-rpc--files (snapshot)
  "Return how many files of SNAPSHOT are done, or nil if it is of one file."
  (when-let ((files (plist-get snapshot :files)))
    (format " (%d of %d files)" (+ (plist-get files :completed) (plist-get files :unchanged)) (plist-get files :total))))

(defun storage-rpc--success (transfer snapshot)
  "Return what TRANSFER has done by its last SNAPSHOT."
  (let ((url (plist-get (plist-get snapshot :reference) :url)) (files (plist-get snapshot :files)))
    (pcase (or (plist-get snapshot :kind) (storage-rpc-transfer-kind transfer))
      ("upload" (format "stored as %s" url))
      ("download" (format "downloaded from %s" url))
      (kind (format "%d files %s %s, %d unchanged, %d refused" (plist-get files :completed)
                    (if (equal kind "put") "stored below" "downloaded from") url
                    (plist-get files :unchanged) (plist-get files :refused))))))

(defun storage-rpc--report (transfer)
  "Show why files of TRANSFER have failed or were refused, if any."
  (when (plist-get (storage-rpc-transfer-snapshot transfer) :failures)
    (storage-rpc--request
     'folderTask/items `(:task ,(storage-rpc-transfer-task transfer) :states ["failed" "refused"])
     (lambda (page failure)
       (let ((items (or (plist-get page :items) (plist-get (storage-rpc-transfer-snapshot transfer) :failures))))
         (with-current-buffer (get-buffer-create "*storage-rpc failures*")
           (let ((inhibit-read-only t))
             (erase-buffer)
             (insert (storage-rpc-transfer-name transfer) "\n\n")
             (cl-loop for item across items do
                      (insert (format "%s: %s\n" (plist-get item :path)
                                      (storage-rpc--reason (plist-get item :error)))))
             (when (or failure (plist-get page :pageToken)) (insert "…\n")))
           (special-mode)
           (goto-char (point-min))
           (display-buffer (current-buffer))))))))

(defun storage-rpc--end (transfer how)
  "Forget TRANSFER, which has ended; say HOW."
  (remhash (storage-rpc-transfer-task transfer) storage-rpc--transfers)
  (storage-rpc--report transfer)
  (message "%s: %s" (storage-rpc-transfer-name transfer) how)
  (with-demoted-errors "storage-rpc: %S" ; an error here would keep jsonrpc.el from reading on
    (when (storage-rpc-transfer-then transfer)
      (funcall (storage-rpc-transfer-then transfer) (storage-rpc-transfer-snapshot transfer)))))

(defun storage-rpc--fail (transfer failure)
  "End TRANSFER with FAILURE, an error object that came without an event."
  (storage-rpc--show transfer `(:status "failure" :error ,failure ,@(storage-rpc-transfer-snapshot transfer))))

(defun storage-rpc--running ()
  "Return the transfers that were begun here and have not ended."
  (seq-filter #'storage-rpc-transfer-p (hash-table-values storage-rpc--transfers)))

(defun storage-rpc--ended (connection)
  "Fail whatever the service of CONNECTION was doing when it ended."
  (let ((running (storage-rpc--running)) (failure (storage-rpc--last-words connection)))
    (clrhash storage-rpc--transfers)
    (dolist (transfer running) (storage-rpc--fail transfer failure))
    (storage-rpc--show-all)
    (storage-rpc--forget-observers)))

(defun storage-rpc-reference (reference)
  "Return the plist of REFERENCE, a URL or a path in the default bucket."
  (storage-rpc--connect)
  (storage-rpc--call 'storage/reference
                     (list (if (string-search "://" reference) :url :path) reference)))

(defun storage-rpc--noun (transfer)
  "Return what TRANSFER is called in a sentence."
  (if (equal (storage-rpc-transfer-kind transfer) "folder") "transfer" (storage-rpc-transfer-kind transfer)))

(defun storage-rpc--begin (kind method params file then)
  "Begin a transfer of KIND between FILE and the service by METHOD with PARAMS.
Call THEN with the last snapshot.  Return the transfer."
  (let ((transfer (storage-rpc--transfer :kind kind :name (abbreviate-file-name file) :then then)))
    (storage-rpc--request
     method `(,(if (equal kind "folder") :directory :file) ,file :observe ["progress" "pause" "success" "failure"] ,@params)
     (lambda (snapshot failure)
       (if failure
           (storage-rpc--fail transfer failure)
         (let* ((task (plist-get snapshot :task)) (early (gethash task storage-rpc--transfers)))
           (setf (storage-rpc-transfer-task transfer) task (storage-rpc-transfer-snapshot transfer) snapshot)
           (puthash task transfer storage-rpc--transfers)
           (message "%s: the %s has begun" (storage-rpc-transfer-name transfer) (storage-rpc--noun transfer))
           (if early (storage-rpc--show transfer early) (storage-rpc--show-all))
           (dolist (verb (reverse (storage-rpc-transfer-wanted transfer)))
             (storage-rpc--control transfer verb nil))))))
    transfer))

(defun storage-rpc--local (file)
  "Return the path of FILE for the service, which knows no files of other machines."
  (when (string-match "\\`\\([[:alpha:]][[:alnum:]+.-]*\\)://\\|\\`file:/" file)
    (user-error "A URL is no name of a file: %s" (or (match-string 1 file) "file")))
  (when (file-remote-p file)
    (user-error "%s is on another machine" file))
  (file-name-unquote (expand-file-name file)))

;;;###autoload
(defun storage-rpc-put-file (file reference &optional then)
  "Upload FILE to REFERENCE: gs://BUCKET/PATH, or a path in the default bucket.
Call THEN with the last snapshot, a plist.  Return the upload."
  (interactive
   (let ((file (read-file-name "Upload file: " nil buffer-file-name t)))
     (list file (read-string "To reference: " (file-name-nondirectory file) 'storage-rpc--history))))
  (let ((path (storage-rpc--local file)))
    (storage-rpc--begin "upload" 'reference/putFile
                        `(:reference ,(storage-rpc-reference reference)) path then)))

;;;###autoload
(defun storage-rpc-get-file (reference file &optional then)
  "Download REFERENCE, gs://BUCKET/PATH or a path in the default bucket, to FILE.
Call THEN with the last snapshot, a plist.  Return the download."
  (interactive
   (let ((reference (read-string "Download reference: " nil 'storage-rpc--history)))
     (list reference (read-file-name "To file: " nil nil nil (file-name-nondirectory reference)))))
  (when (and (called-interactively-p 'any) (file-exists-p file)
             (not (yes-or-no-p (format "Replace %s? " file))))
    (user-error "Nothing is downloaded"))
  (let ((path (storage-rpc--local file)))
    (storage-rpc--begin "download" 'reference/writeToFile
                        `(:reference ,(storage-rpc-reference reference)) path then)))

;;;###autoload
(defun storage-rpc-put-directory (directory reference &optional then &rest options)
  "Upload the files of DIRECTORY below REFERENCE, as one task.
Call THEN with the last snapshot, a plist.  Return the transfer.
OPTIONS are those of reference/putDirectory, such as
:exclude [\"*.tmp\"] :changed t.  What has failed is shown in a buffer."
  (interactive
   (let ((directory (read-directory-name "Upload directory: " nil nil t)))
     (list directory (read-string "Below reference: " (file-name-nondirectory (directory-file-name directory))
                                  'storage-rpc--history))))
  (let ((path (directory-file-name (storage-rpc--local directory))))
    (storage-rpc--begin "folder" 'reference/putDirectory
                        `(:reference ,(storage-rpc-reference reference) ,@options) path then)))

;;;###autoload
(defun storage-rpc-write-directory (reference directory &optional then &rest options)
  "Download what is below REFERENCE to DIRECTORY, as one task.
Call THEN with the last snapshot, a plist.  Return the transfer.
OPTIONS are those of reference/writeToDirectory, such as :changed t.
What has failed is shown in a buffer."
  (interactive
   (let ((reference (read-string "Download all below reference: " nil 'storage-rpc--history)))
     (list reference (read-directory-name "To directory: "))))
  (when (and (called-interactively-p 'any) (file-directory-p directory) (not (directory-empty-p directory))
             (not (yes-or-no-p (format "Replace files in %s? " directory))))
    (user-error "Nothing is downloaded"))
  (let ((path (directory-file-name (storage-rpc--local directory))))
    (storage-rpc--begin "folder" 'reference/writeToDirectory
                        `(:reference ,(storage-rpc-reference reference) ,@options) path then)))

(defun storage-rpc--state (transfer)
  "Return the state of TRANSFER."
  (plist-get (storage-rpc-transfer-snapshot transfer) :state))

(defun storage-rpc--others ()
  "Return the transfers in the service that were not begun here and have not ended."
  (cl-loop
   for kind in '("upload" "download" "folder") append
   (cl-loop
    for snapshot across (plist-get (storage-rpc--call (intern (concat kind "Task/list")) nil) :tasks)
    for transfer = (storage-rpc--transfer :kind kind :other t :task (plist-get snapshot :task) :snapshot snapshot
                                          :name (plist-get (plist-get snapshot :reference) :url))
    unless (or (member (storage-rpc--state transfer) '("success" "failed" "cancelled"))
               (gethash (plist-get snapshot :task) storage-rpc--transfers))
    collect transfer)))

(defun storage-rpc--choose (prompt &rest states)
  "Ask with PROMPT for a transfer in one of STATES; return it, or the only one."
  (storage-rpc--connect)
  (let* ((fitting (lambda (transfer) (member (storage-rpc--state transfer) states)))
         (transfers (or (seq-filter fitting (storage-rpc--running)) (seq-filter fitting (storage-rpc--others))))
         (choices (mapcar (lambda (transfer)
                            (cons (format "%s of %s (%s)" (storage-rpc-transfer-kind transfer)
                                          (storage-rpc-transfer-name transfer) (storage-rpc-transfer-task transfer))
                                  transfer))
                          transfers)))
    (unless choices (user-error "There is no transfer that is %s" (string-join states " or ")))
    (cdr (if (cdr choices) (assoc (completing-read prompt choices nil t) choices) (car choices)))))

(defun storage-rpc--adopt (transfer)
  "Follow TRANSFER, which was begun elsewhere, such as in an earlier session."
  (setf (storage-rpc-transfer-other transfer) nil)
  (puthash (storage-rpc-transfer-task transfer) transfer storage-rpc--transfers)
  (dolist (status '("progress" "pause" "success" "failure"))
    (storage-rpc--request
     (intern (concat (storage-rpc-transfer-kind transfer) "Task/observe"))
     (list :task (storage-rpc-transfer-task transfer) :status status)
     (lambda (_ failure)
       (when (and failure (gethash (storage-rpc-transfer-task transfer) storage-rpc--transfers))
         (storage-rpc--fail transfer failure)))))
  (storage-rpc--show-all))

(defun storage-rpc--control (transfer verb done)
  "Let the service VERB the TRANSFER; say DONE where no event does."
  (if (not (storage-rpc-transfer-task transfer))
      (push verb (storage-rpc-transfer-wanted transfer)) ; as soon as it has begun
    (storage-rpc--request
     (intern (format "%sTask/%s" (storage-rpc-transfer-kind transfer) verb))
     (list :task (storage-rpc-transfer-task transfer))
     (lambda (answer failure)
       (if failure
           (message "%s" (storage-rpc--reason failure))
         (storage-rpc--controlled transfer answer verb done))))))

(defun storage-rpc--controlled (transfer answer verb done)
  "Take in the ANSWER to the VERB that was to control TRANSFER.
Say DONE where no event does."
  (setf (storage-rpc-transfer-snapshot transfer) (plist-get answer :snapshot))
  (let ((name (storage-rpc-transfer-name transfer)))
    (cond
     ((eq (plist-get answer :accepted) :json-false) (message "%s is %s" name (storage-rpc--state transfer)))
     ((storage-rpc-transfer-other transfer)
      (message "%s: %s" name done)
      (when (member verb '("resume" "retry")) (storage-rpc--adopt transfer)))
     (t (storage-rpc--show-all)))))

;;;###autoload
(defun storage-rpc-pause (transfer)
  "Pause TRANSFER, an upload, a download or a folder."
  (interactive (list (storage-rpc--choose "Pause " "queued" "running")))
  (storage-rpc--control transfer "pause" "paused"))

;;;###autoload
(defun storage-rpc-resume (transfer)
  "Let TRANSFER go on where it was paused."
  (interactive (list (storage-rpc--choose "Resume " "paused")))
  (storage-rpc--control transfer "resume" "resumed"))

;;;###autoload
(defun storage-rpc-retry (transfer)
  "Let TRANSFER, which waits after a failure, try again now."
  (interactive (list (storage-rpc--choose "Retry " "running")))
  (storage-rpc--control transfer "retry" "tries again"))

;;;###autoload
(defun storage-rpc-cancel (transfer)
  "Cancel TRANSFER, an upload, a download or a folder; it ends as a failure."
  (interactive (list (storage-rpc--choose "Cancel " "queued" "running" "paused")))
  (storage-rpc--control transfer "cancel" "cancelled"))

;; Changes

(defun storage-rpc--hear-change (handle change)
  "Tell the observer with HANDLE of CHANGE.
Keep that until the observer is known."
  (let ((observer (gethash handle storage-rpc--observers)))
    (if (not (functionp observer))
        (puthash handle (append observer (list change)) storage-rpc--observers)
      (with-demoted-errors "storage-rpc: %S" ; an error here would keep jsonrpc.el from reading on
        (funcall observer change)))))

(defun storage-rpc--log-change (url change)
  "Write CHANGE below URL into a buffer, and say it; nil if it was the last."
  (let ((text (if change (format "%s %s" (plist-get change :change) (plist-get (plist-get change :reference) :url))
                (format "%s is not observed any more" url))))
    (message "%s" text)
    (with-current-buffer (get-buffer-create "*storage-rpc changes*")
      (unless (derived-mode-p 'special-mode) (special-mode))
      (let ((inhibit-read-only t))
        (save-excursion
          (goto-char (point-max))
          (insert (format-time-string "%T ") text "\n"))))))

;;;###autoload
(defun storage-rpc-observe (reference &optional function)
  "Hear of each change of REFERENCE and of the objects below it.
Call FUNCTION with the change, a plist, such as
\(:change \"created\" :reference (:url \"gs://...\" ...) ...), and with nil when
the service has ended.  By default log it in the buffer *storage-rpc changes*.
Return what `storage-rpc-unobserve' takes."
  (interactive (list (read-string "Observe reference: " nil 'storage-rpc--history)))
  (let* ((place (storage-rpc-reference reference))
         (observer (or function (apply-partially #'storage-rpc--log-change (plist-get place :url))))
         (take (lambda (answer)
                 (let* ((handle (plist-get answer :handle)) (early (gethash handle storage-rpc--observers)))
                   (puthash handle observer storage-rpc--observers)
                   (dolist (change early) (storage-rpc--hear-change handle change))))))
    (prog1 (plist-get (storage-rpc--call 'storage/observe (list :reference place) take) :handle)
      (when (called-interactively-p 'any) (message "%s is observed" (plist-get place :url))))))

(defun storage-rpc-unobserve (handle)
  "End the observation with HANDLE, which `storage-rpc-observe' has returned.
Interactively, end all."
  (interactive '(nil))
  (dolist (one (if handle (list handle) (hash-table-keys storage-rpc--observers)))
    (storage-rpc--call 'storage/removeObserver (list :handle one))
    (remhash one storage-rpc--observers)))

(defun storage-rpc--forget-observers ()
  "Tell all observers that the connection has ended."
  (let ((observers (hash-table-values storage-rpc--observers)))
    (clrhash storage-rpc--observers)
    (dolist (observer (seq-filter #'functionp observers))
      (with-demoted-errors "storage-rpc: %S" (funcall observer nil)))))

;;;###autoload
(defun storage-rpc-get-metadata (reference)
  "Show the metadata of REFERENCE; return it."
  (interactive (list (read-string "Metadata of reference: " nil 'storage-rpc--history)))
  (let ((metadata (storage-rpc--call 'reference/getMetadata (list :reference (storage-rpc-reference reference)))))
    (with-help-window "*storage-rpc metadata*"
      (cl-labels ((show (members indent)
                    (cl-loop for (key value) on members by #'cddr do
                             (princ (format "%s%-20s" indent (substring (symbol-name key) 1)))
                             (if (listp value) (progn (terpri) (show value "  "))
                               (princ (format "%s\n" value))))))
        (show metadata "")))
    metadata))

(defun storage-rpc-shutdown ()
  "End the connection.
A service of Emacs alone ends, and what it has not finished is cancelled;
in one that is shared, transfers go on."
  (interactive)
  (when-let ((connection storage-rpc--connection))
    (when (jsonrpc-running-p connection)
      (unless storage-rpc--shared
        (mapc #'storage-rpc-cancel (storage-rpc--running)) ; else they would wait for the next service
        (with-timeout (3) (while (storage-rpc--running) (accept-process-output nil 0.1))))
      (clrhash storage-rpc--transfers)
      (storage-rpc--show-all)
      (storage-rpc--forget-observers)
      (storage-rpc--request 'shutdown nil (lambda (_ failure) (unless failure (jsonrpc-notify connection 'exit nil))))
      (with-timeout (3) (while (jsonrpc-running-p connection) (accept-process-output nil 0.1))))
    (jsonrpc-shutdown connection t)
    (setq storage-rpc--connection nil)))

(provide 'storage-rpc)
;;; storage-rpc.el ends here
