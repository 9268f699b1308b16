//! Every limit that a caller can meet or an operator can feel, with its reason. What only steers an algorithm — a
//! table's size, a batch, how many names a message shows — stands beside it.

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

// --- the wire ---

/// One gRPC message; whatever can be larger streams.
pub const MESSAGE_BYTES_MAX: usize = 4 * MIB;
/// One unary answer: a message with room for what surrounds it; what does not fit is left out and named.
pub const ANSWER_BYTES_MAX: usize = MESSAGE_BYTES_MAX - 64 * KIB;
/// A diagnostic's message, and its place, in characters; of longer ones the beginning.
pub const DIAGNOSTIC_CHARS_MAX: usize = 500;
/// UTF-8 bytes of one text of a refusal; of a longer one its beginning and its end are told.
pub const REFUSAL_TEXT_BYTES_MAX: usize = 1_024;
/// UTF-8 bytes of all that a refusal lists. Refusals travel in headers, of which clients take 16 KiB.
pub const REFUSAL_LIST_BYTES_MAX: usize = 4 * 1_024;
/// One chunk of a streamed document, well below the message limit.
pub const CHUNK_BYTES: usize = 256 * KIB;
/// A page of a list ends here even when fewer items than asked for fit.
pub const PAGE_BYTES_MAX: usize = MIB;
/// Items of a page when the caller names no size.
pub const PAGE_SIZE_DEFAULT: usize = 50;
/// Items of a page at the most.
pub const PAGE_SIZE_MAX: usize = 500;

// --- names of things ---

/// An identifier of any kind, in characters.
pub const ID_CHARS_MAX: usize = 200;
/// A caller's key of a section, in characters.
pub const KEY_CHARS_MAX: usize = 200;

// --- imports (30-loader, section 1) ---

/// One uploaded file.
pub const IMPORT_BYTES_MAX: usize = 32 * MIB;
/// One chunk of an uploaded file.
pub const UPLOAD_CHUNK_BYTES_MAX: usize = MIB;
/// What all uploads of a process hold together, until their files are read.
pub const UPLOAD_BYTES_IN_FLIGHT_MAX: usize = 128 * MIB;
/// How long an upload may fall silent between two messages.
pub const UPLOAD_IDLE_MS: u64 = 30 * 1_000;
/// How long an upload may take.
pub const UPLOAD_MS_MAX: u64 = 10 * 60 * 1_000;
/// The name of an uploaded file, in characters.
pub const FILE_NAME_CHARS_MAX: usize = 1_024;
/// One stored document: a card, an original.
pub const DOCUMENT_BYTES_MAX: usize = 16 * MIB;
/// One preset body.
pub const PRESET_BYTES_MAX: usize = 2 * MIB;
/// One user's description, in characters.
pub const USER_DESCRIPTION_CHARS_MAX: usize = 100_000;
/// One user's name, in characters.
pub const USER_NAME_CHARS_MAX: usize = 200;
/// Users of one file: their names fit one answer.
pub const USERS_PER_FILE_MAX: usize = 1_000;
/// Nesting of a document.
pub const DOCUMENT_DEPTH_MAX: usize = 32;
/// Values in a document.
pub const DOCUMENT_NODES_MAX: usize = 100_000;
/// One string of a document, in bytes.
pub const DOCUMENT_STRING_BYTES_MAX: usize = MIB;
/// One object key of a document, in characters.
pub const DOCUMENT_KEY_CHARS_MAX: usize = 1_024;
/// Bytes that all compressed chunks of one picture may inflate to: a document in base64.
pub const IMPORT_INFLATED_BYTES_MAX: usize = DOCUMENT_BYTES_MAX / 3 * 4 + KIB;
/// Members of one card archive.
pub const ARCHIVE_MEMBERS_MAX: usize = 10_000;
/// Findings of one report on a card, a preset or a persona; what goes beyond is counted.
pub const REPORT_FINDINGS_MAX: usize = 200;

// --- lore (40-lorebook, section 2) ---

/// Findings of one report on a book; what goes beyond is counted.
pub const BOOK_FINDINGS_MAX: usize = 1_000;
/// Entries of one book.
pub const BOOK_ENTRIES_MAX: usize = 10_000;
/// Entries of all books of one request; whole books are reserved in order.
pub const RUNTIME_ENTRIES_MAX: usize = 10_000;
/// One stored entry, encoded: it must fit into one message with room to spare.
pub const ENTRY_BYTES_MAX: usize = 2 * MIB;
/// Edits of one batch.
pub const EDITS_MAX: usize = 500;
/// A world's name, in characters.
pub const WORLD_NAME_CHARS_MAX: usize = 200;
/// The revision that a restored backup counts on from, at the most.
pub const RESTORED_REVISION_MAX: u64 = 1 << 53;
/// Worlds that one activation or batch names.
pub const WORLDS_PER_REQUEST_MAX: usize = 500;
/// A change's summary, in characters.
pub const CHANGE_SUMMARY_CHARS_MAX: usize = 2_000;
/// Labels of a change.
pub const CHANGE_LABELS_MAX: usize = 16;
/// One label's name or text, in characters.
pub const CHANGE_LABEL_CHARS_MAX: usize = 200;
/// Bytes of all plain keys of one world in the automaton: bounds its memory.
pub const WORLD_KEY_BYTES_MAX: usize = 2 * MIB;
/// Bytes of all keys of one world whose macros one request expands.
pub const EXPANDED_KEY_BYTES_MAX: usize = 256 * KIB;
/// A selection's scan depth: the widest that SillyTavern knows. Of worlds and entries every depth is kept as the file
/// has it; no scan reads more messages than the request holds.
pub const SCAN_DEPTH_MAX: u32 = 1_000;
/// Entries that a scan looks at, counted again in each of its passes.
pub const SCAN_LOOKS_MAX: usize = 2_000_000;
/// Times that a request reads a world's keys with macros anew, after lore that wrote variables.
pub const KEY_EXPANSIONS_MAX: usize = 64;
/// Messages scanned for keys when the request names no number.
pub const SCAN_MESSAGES_DEFAULT: usize = 128;
/// Messages scanned for keys at the most.
pub const SCAN_MESSAGES_MAX: usize = 1_024;
/// Characters scanned for keys when the request names no number.
pub const SCAN_CHARS_DEFAULT: usize = 65_536;
/// Characters scanned for keys at the most.
pub const SCAN_CHARS_MAX: usize = 1_048_576;
/// Nesting of groups in one pattern.
pub const REGEX_DEPTH_MAX: usize = 64;
/// Steps that all backtracking patterns of one request share.
pub const REGEX_STEPS_MAX: usize = 1_000_000;
/// Lore candidates considered by rank.
pub const LORE_CANDIDATES_MAX: usize = 4_096;
/// Compiled automata kept per process.
pub const MATCHER_CACHE_BYTES_MAX: u64 = 256 * MIB as u64;

/// How often an edit that expects no revision is made on what another one has left, before its caller is told.
pub const EDIT_RACES_MAX: u32 = 64;

// --- selections (30-loader, section 2) ---

/// Deletions of worlds that a sweep reads at a time, and owners whose unused books it collects.
pub const PENDING_DELETIONS_MAX: usize = 100;
/// How long the running copy of a card's book waits for its card, whose import may have died.
pub const BOOK_UNCLAIMED_MS: i64 = 15 * 60 * 1_000;
/// Worlds that one session, user, preset or character may name.
pub const WORLDS_PER_OWNER_MAX: usize = 100;
/// Presets, characters and users of one owner, of each kind.
pub const RESOURCES_PER_OWNER_MAX: usize = 10_000;
/// Sessions of one owner that have a selection.
pub const SELECTIONS_PER_OWNER_MAX: usize = 100_000;
/// Templates of one owner.
pub const TEMPLATES_PER_OWNER_MAX: usize = 1_000;
/// A resource's name in lists, in characters; its document keeps a longer one.
pub const RESOURCE_NAME_CHARS_MAX: usize = 200;
/// Parsed presets and cards kept per process, measured by their documents.
pub const PARSED_CACHE_BYTES_MAX: u64 = 64 * MIB as u64;
/// The RP policy text.
pub const RP_POLICY_BYTES_MAX: usize = 16 * KIB;

// --- profiles (30-loader, section 4) ---

/// A compiled profile when the request names no budget.
pub const PROFILE_BYTES_DEFAULT: usize = 512 * KIB;
/// A compiled profile at the most.
pub const PROFILE_BYTES_MAX: usize = 2 * MIB;
/// Diagnostics that one answer lists; what goes beyond is counted.
pub const DIAGNOSTICS_MAX: usize = 1_000;

// --- macros ---

/// Macros evaluated in one text.
pub const MACRO_STEPS_MAX: usize = 100_000;
/// Nesting of macros.
pub const MACRO_DEPTH_MAX: usize = 64;
/// Bytes that one text may expand to.
pub const MACRO_OUTPUT_BYTES_MAX: usize = 4 * MIB;
/// Names and values of all macro variables of one request.
pub const MACRO_VARIABLE_BYTES_MAX: usize = MIB;

// --- the ledger ---

/// One message or authored turn.
pub const TURN_BYTES_MAX: usize = MIB;
/// Lines in which the writers of sessions wait for each other, about 40 bytes each.
pub const WRITER_LINES: usize = 1_024;
/// How long a write that loses races to another process is decided again before its caller is told to retry.
pub const APPEND_RACES_MS: u64 = 5 * 1_000;
/// Events of one append.
pub const APPEND_EVENTS_MAX: usize = 20_000;
/// A generation ends here whatever its provider does; the loader's lease too.
pub const GENERATION_DEADLINE_MS: i64 = 15 * 60 * 1_000;
/// How long a generation's lease lasts without renewal.
pub const GENERATION_LEASE_MS: i64 = 30 * 1_000;
/// How often a running reply's text is flushed for other replicas.
pub const DELTA_FLUSH_MS: u64 = 250;
/// How far ahead of the server a claimed original time may lie.
pub const CLAIMED_TIME_AHEAD_MS_MAX: i64 = 60 * 1_000;
/// How long `done` waits for the evaluation unless the session says otherwise.
pub const PROPOSAL_WAIT_MS_DEFAULT: i64 = 30 * 1_000;
/// Drift after which a depth or post-history segment lands again.
pub const REFRESH_TOKENS_DEFAULT: u32 = 8_000;
/// Depth of a fork's lineage before it is flattened.
pub const LINEAGE_DEPTH_MAX: usize = 64;
/// Events that a writer task commits in one transaction.
pub const GROUP_COMMIT_MAX: usize = 256;
/// Items and turns of the session states that a process keeps: about 100 bytes each.
pub const STATE_CACHE_ITEMS_MAX: u64 = 500_000;
/// Texts of events that a process keeps for the requests to come.
pub const TEXT_CACHE_BYTES_MAX: u64 = 64 * MIB as u64;
/// Block digests of last requests that a process keeps: about 100 bytes each.
pub const MARK_CACHE_BLOCKS_MAX: u64 = 200_000;
/// How long a session may stay half created before it is forgotten: longer than a peer may take to answer.
pub const PENDING_SESSION_MS: i64 = 5 * 60 * 1_000;
/// Characters of a session's title.
pub const TITLE_CHARS_MAX: usize = 200;
/// A provider's name, and a model's as the provider knows it.
pub const MODEL_NAME_CHARS_MAX: usize = 200;
/// The highest temperature that a caller may ask for; presets keep theirs.
pub const TEMPERATURE_MAX: f64 = 2.0;
/// Tokens of a reply that a caller may ask for: a reply has no more bytes.
pub const REPLY_TOKENS_MAX: usize = TURN_BYTES_MAX;
/// Texts that end a reply, and how long each may be; some providers take fewer.
pub const STOPS_MAX: usize = 16;
pub const STOP_CHARS_MAX: usize = 200;
/// Characters of an authored turn's origin.
pub const ORIGIN_CHARS_MAX: usize = 200;
/// Appends waiting for the writer before callers are refused.
pub const WRITER_QUEUE_MAX: usize = 4_096;

// --- models (60-platform, section 2) ---

/// One line of a provider's event stream: bounds what a broken server can make us hold.
pub const MODEL_LINE_BYTES_MAX: usize = MIB;
/// One reply or one tool call's arguments, in bytes: a turn holds no more.
pub const MODEL_REPLY_BYTES_MAX: usize = TURN_BYTES_MAX;
/// What is kept of a provider's error text, in characters.
pub const MODEL_ERROR_CHARS_MAX: usize = 500;
/// Attempts at one call; only a call that has produced nothing is tried again.
pub const MODEL_ATTEMPTS_MAX: u32 = 3;
/// The first wait between two attempts; it doubles.
pub const MODEL_RETRY_BASE_MS: u64 = 500;
/// A provider that asks for a longer wait is not waited for.
pub const MODEL_RETRY_WAIT_MS_MAX: u64 = 20_000;
/// How long connecting to a provider may take.
pub const MODEL_CONNECT_MS: u64 = 10_000;
/// How long a provider may think before its first event.
pub const MODEL_FIRST_MS: u64 = 180_000;
/// How long a provider may fall silent between two events.
pub const MODEL_IDLE_MS: u64 = 60_000;

// --- the work queue ---

/// How long a leased job is held without completion.
pub const JOB_LEASE_MS: i64 = 120 * 1_000;
/// Jobs of one lease call.
pub const JOBS_LEASED_MAX: u32 = 32;
/// How long one lease call may wait for work.
pub const JOBS_WAIT_MS_MAX: u32 = 30_000;
/// Attempts before a job is parked.
pub const JOB_ATTEMPTS_MAX: u32 = 8;

// --- proposals (50-proposal, section 1) ---

/// Operations of one changeset.
pub const CHANGE_OPERATIONS_MAX: usize = 50;
/// Characters of a proposed entry's name.
pub const CHANGE_NAME_CHARS_MAX: usize = 200;
/// Bytes of a proposed entry's content.
pub const CHANGE_CONTENT_BYTES_MAX: usize = 16 * KIB;
/// Keywords of a proposed entry.
pub const CHANGE_KEYWORDS_MAX: usize = 32;
/// Characters of one proposed keyword.
pub const CHANGE_KEYWORD_CHARS_MAX: usize = 200;
/// Kept of a rejected operation, in characters.
pub const CHANGE_REJECTED_CHARS_MAX: usize = 4_096;
/// Characters of a proposal's summary, and of an operation's rationale.
pub const CHANGE_NOTE_CHARS_MAX: usize = 2_000;
/// Bytes of the catalogue that a judging call lists; what does not fit is counted in it.
pub const CATALOGUE_BYTES_MAX: usize = 96 * KIB;
/// Characters of the user's message and of the reply that a judging call shows; the middle is left out.
pub const JUDGED_CHARS_MAX: usize = 24_000;
/// How long one judging call may take: well within `JOB_LEASE_MS`, whose lease it runs under.
pub const JUDGE_MS_MAX: u64 = 90 * 1_000;
/// After this an application that has not ended is taken up by whoever comes by; that is safe at any time.
pub const APPLY_ABANDONED_MS: i64 = 10 * 1_000;
/// Characters kept of the exchange that a changeset was judged from.
pub const EXCERPT_CHARS_MAX: usize = 1_000;
/// Tokens that the judging call may produce.
pub const PROPOSAL_TOKENS_MAX: u32 = 2_048;

// --- idempotency (60-platform, section 4) ---

/// How long a stored answer is kept at the least.
pub const ANSWER_KEPT_MS: i64 = 24 * 60 * 60 * 1_000;

// --- processes ---

/// Calls at the same time on one connection.
pub const CONNECTION_CALLS_MAX: u32 = 1_024;
/// Connections of one port at the same time; more wait to be accepted. A connection that says nothing is asked
/// every 30 seconds whether it is still there, and one of HTTP/1 is closed where it sends no request for as long.
pub const CONNECTIONS_MAX: usize = 4_096;
/// How long a new connection may take to say the first words of HTTP.
pub const GREETING_MS_MAX: u64 = 10 * 1_000;
/// How long any request that comes in pieces may pause between two of them; uploads have less.
pub const REQUEST_PAUSE_MS_MAX: u64 = 60 * 1_000;
/// All headers of one call.
pub const HEADER_BYTES_MAX: u32 = 32 * KIB as u32;
/// How long open calls and tasks may take to end when a process is asked to.
pub const DRAIN_SECONDS_DEFAULT: u64 = 20;
/// How long another service may take to begin its answer when the caller set no deadline.
pub const PEER_ANSWER_MS: u64 = 60 * 1_000;
/// How long a connection to another service may take.
pub const PEER_CONNECT_MS: u64 = 2 * 1_000;
/// How long a write or read waits for a connection to the store.
pub const STORE_WAIT_MS: u64 = 5 * 1_000;
/// Readers of one SQLite file at the same time.
pub const SQLITE_READERS_MAX: u32 = 8;
/// PostgreSQL connections of one service when the operator names no number.
pub const POSTGRES_CONNECTIONS_DEFAULT: u32 = 16;
/// Connections of one service to PostgreSQL that an operator may ask for.
pub const POSTGRES_CONNECTIONS_MAX: u32 = 1_000;
/// Turns that one process judges at the same time unless the operator says otherwise.
pub const JUDGES_DEFAULT: usize = 4;
/// Turns judged at the same time that an operator may ask for.
pub const JUDGES_MAX: usize = 1_000;
