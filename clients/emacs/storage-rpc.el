;;; storage-rpc.el --- Cloud Storage for Firebase, through storage-rpc -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: comm, files

;;; Commentary:

;; `M-x storage-rpc-put-file' uploads a file, `M-x storage-rpc-cancel' ends that, and
;; `M-x storage-rpc-get-metadata' shows what is stored.  The service is started when it is first
;; needed, and ends with Emacs, and uploads with it.

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'subr-x)

(defgroup storage-rpc nil "Cloud Storage for Firebase." :group 'comm :prefix "storage-rpc-")

(defcustom storage-rpc-command nil
  "The program and its flags; nil for $STORAGE_RPC, else storage-rpc on the PATH."
  :type '(choice (const :tag "By environment" nil) (repeat string)))

(defcustom storage-rpc-token-function nil
  "Function that returns a token, or nil where there are no tokens.
It is called with KIND and REASON: \"idToken\", \"accessToken\" or
\"appCheckToken\", and \"expired\" or \"refused\"; once at the start with nil
and \"start\", for the kind that the engine takes.  It returns a string,
\(:token STRING :expiresIn SECONDS), or nil; it must not wait for the service."
  :type '(choice (const :tag "No tokens" nil) function))

(cl-defstruct (storage-rpc-upload (:constructor storage-rpc--upload) (:copier nil))
  "An upload: its newest snapshot, a plist, and what is called with the last."
  file task reporter snapshot then)

(defvar storage-rpc--connection nil "The connection, or nil before it is needed.")
(defvar storage-rpc--uploads (make-hash-table :test #'equal) "What has not ended, by task.")
(defvar storage-rpc--history nil "References that were asked for.")

(defun storage-rpc--connect ()
  "Return the connection, after starting the service where it does not run."
  (unless (and storage-rpc--connection (jsonrpc-running-p storage-rpc--connection))
    (let ((command (or storage-rpc-command (list (or (getenv "STORAGE_RPC") "storage-rpc")))))
      (unless (executable-find (car command))
        (user-error "There is no program %s: see `storage-rpc-command' and $STORAGE_RPC" (car command)))
      (setq storage-rpc--connection
            (make-instance
             'jsonrpc-process-connection
             :name "storage-rpc"
             :events-buffer-scrollback-size 0 ; no token in a buffer
             :request-dispatcher #'storage-rpc--answer
             :notification-dispatcher #'storage-rpc--hear
             :on-shutdown #'storage-rpc--ended
             :process (lambda ()
                        (make-process
                         :name "storage-rpc" :command command :connection-type 'pipe :noquery t
                         :coding 'utf-8-emacs-unix :stderr (get-buffer-create "*storage-rpc stderr*"))))))
    (add-hook 'kill-emacs-hook #'storage-rpc-shutdown)
    (storage-rpc--call 'initialize `(:protocolVersion 1 :client (:name "emacs" :version ,emacs-version)))
    (when-let ((token (storage-rpc--token nil "start")))
      (storage-rpc--call 'auth/setToken token)))
  storage-rpc--connection)

(defun storage-rpc--request (method params then)
  "Ask for METHOD with PARAMS; call THEN with result and nil, or nil and error."
  (jsonrpc-async-request
   storage-rpc--connection method params :timeout nil
   :success-fn (lambda (result) (funcall then result nil))
   :error-fn (lambda (failure) (funcall then nil failure))))

(defun storage-rpc--call (method params)
  "Return the result of METHOD with PARAMS, or signal its error.
`jsonrpc-request' leaves unread what stands behind the answer."
  (let (result failure done)
    (storage-rpc--request method params (lambda (value why) (setq result value failure why done t)))
    (while (not done) (accept-process-output nil 0.1))
    (when failure
      (error "%s" (storage-rpc--reason failure)))
    result))

(defun storage-rpc--reason (failure)
  "Return the sentence for FAILURE, an error object."
  (format "%s (%s): %s" (or (plist-get (plist-get failure :data) :name) "error")
          (plist-get failure :code) (plist-get failure :message)))

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
  (when (eq method 'uploadTask/event)
    (let* ((snapshot (plist-get params :snapshot))
           (upload (gethash (plist-get snapshot :task) storage-rpc--uploads)))
      (if (storage-rpc-upload-p upload)
          (storage-rpc--show upload snapshot)
        ;; Newer versions of jsonrpc.el may deliver an event before the answer that it stood behind.
        (puthash (plist-get snapshot :task) snapshot storage-rpc--uploads)))))

(defun storage-rpc--show (upload snapshot)
  "Show how far UPLOAD is by its SNAPSHOT."
  (setf (storage-rpc-upload-snapshot upload) snapshot)
  (let ((reporter (storage-rpc-upload-reporter upload))
        (fraction (plist-get (plist-get snapshot :progress) :fractionCompleted)))
    (pcase (plist-get snapshot :status)
      ("progress"
       (progress-reporter-update reporter (floor (* 100 fraction)))
       (when-let ((retry (plist-get snapshot :retry)))
         (message "%s: %s Attempt %d of %s, next at %s." (storage-rpc-upload-file upload)
                  (plist-get (plist-get retry :error) :message)
                  (plist-get retry :attempt) (plist-get retry :of) (plist-get retry :at))))
      ("success"
       (progress-reporter-done reporter)
       (storage-rpc--end upload (format "stored as %s" (plist-get (plist-get snapshot :reference) :url))))
      ("failure" (storage-rpc--end upload (storage-rpc--reason (plist-get snapshot :error)))))))

(defun storage-rpc--end (upload how)
  "Forget UPLOAD, which has ended; say HOW."
  (remhash (storage-rpc-upload-task upload) storage-rpc--uploads)
  (message "%s: %s" (storage-rpc-upload-file upload) how)
  (with-demoted-errors "storage-rpc: %S" ; an error here would keep jsonrpc.el from reading on
    (when (storage-rpc-upload-then upload)
      (funcall (storage-rpc-upload-then upload) (storage-rpc-upload-snapshot upload)))))

(defun storage-rpc--fail (upload failure)
  "End UPLOAD with FAILURE, an error object that no event has told of."
  (storage-rpc--show upload `(:status "failure" :error ,failure ,@(storage-rpc-upload-snapshot upload))))

(defun storage-rpc--running ()
  "Return the uploads that have not ended."
  (seq-filter #'storage-rpc-upload-p (hash-table-values storage-rpc--uploads)))

(defun storage-rpc--ended (_connection)
  "Fail whatever the service was doing when it ended."
  (dolist (upload (storage-rpc--running))
    (storage-rpc--fail upload '(:code -1 :message "The service has ended")))
  (clrhash storage-rpc--uploads))

(defun storage-rpc-reference (reference)
  "Return the plist of REFERENCE, a URL or a path in the default bucket."
  (storage-rpc--connect)
  (storage-rpc--call 'storage/reference
                     (list (if (string-search "://" reference) :url :path) reference)))

;;;###autoload
(defun storage-rpc-put-file (file reference &optional then)
  "Upload FILE to REFERENCE: gs://BUCKET/PATH, or a path in the default bucket.
Call THEN with the last snapshot, a plist.  Return the upload."
  (interactive
   (let ((file (read-file-name "Upload file: " nil buffer-file-name t)))
     (list file (read-string "To reference: " (file-name-nondirectory file) 'storage-rpc--history))))
  (when (file-remote-p file)
    (user-error "%s is on another machine" file))
  (let* ((path (file-name-unquote (expand-file-name file)))
         (place (storage-rpc-reference reference))
         (upload (storage-rpc--upload
                  :file path :then then
                  :reporter (make-progress-reporter (format "Uploading %s..." (file-name-nondirectory path)) 0 100))))
    (storage-rpc--request
     'reference/putFile `(:reference ,place :file ,path :observe ["progress" "success" "failure"])
     (lambda (snapshot failure)
       (if failure
           (storage-rpc--fail upload failure)
         (let* ((task (plist-get snapshot :task)) (early (gethash task storage-rpc--uploads)))
           (setf (storage-rpc-upload-task upload) task (storage-rpc-upload-snapshot upload) snapshot)
           (puthash task upload storage-rpc--uploads)
           (when early (storage-rpc--show upload early))))))
    upload))

;;;###autoload
(defun storage-rpc-cancel (upload)
  "Cancel UPLOAD; it ends as a failure."
  (interactive
   (let ((uploads (mapcar (lambda (upload) (cons (storage-rpc-upload-file upload) upload)) (storage-rpc--running))))
     (unless uploads (user-error "There is no upload"))
     (list (cdr (if (cdr uploads) (assoc (completing-read "Cancel upload of: " uploads nil t) uploads)
                  (car uploads))))))
  (storage-rpc--request 'uploadTask/cancel (list :task (storage-rpc-upload-task upload))
                        (lambda (_ failure) (when failure (message "%s" (storage-rpc--reason failure))))))

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
  "End the service, and the uploads that have not ended."
  (interactive)
  (when-let ((connection storage-rpc--connection))
    (when (jsonrpc-running-p connection)
      (mapc #'storage-rpc-cancel (storage-rpc--running)) ; else they would wait for the next service
      (with-timeout (3) (while (storage-rpc--running) (accept-process-output nil 0.1)))
      (storage-rpc--request 'shutdown nil (lambda (&rest _) (jsonrpc-notify connection 'exit nil)))
      (with-timeout (3) (while (jsonrpc-running-p connection) (accept-process-output nil 0.1))))
    (jsonrpc-shutdown connection t)
    (setq storage-rpc--connection nil)))

(provide 'storage-rpc)
;;; storage-rpc.el ends here
