-- Older files are brought up to date by these steps, each section one, up to the version of the start beside this file.
-- The first section makes a file of the oldest version, into which old exports are loaded. Never change a section.
-- ---------------------------------------------------------------------------------------------------- 0042_first_start
CREATE TABLE agents (id TEXT PRIMARY KEY, name TEXT UNIQUE NOT NULL, description TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL, system_prompt TEXT NOT NULL, config TEXT NOT NULL DEFAULT '{}', enabled_tools TEXT NOT NULL,
    tool_rules TEXT NOT NULL DEFAULT '[]', status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active',
    'hibernated', 'archived')), created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
    usual_tools INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE agent_groups (id TEXT PRIMARY KEY, name TEXT UNIQUE NOT NULL, description TEXT NOT NULL DEFAULT '',
    pattern_type TEXT NOT NULL, pattern_config TEXT NOT NULL DEFAULT '{}', created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL, keywords TEXT NOT NULL DEFAULT '[]', mention INTEGER NOT NULL DEFAULT 1,
    states TEXT NOT NULL DEFAULT '[]') STRICT;
CREATE TABLE group_members (group_id TEXT NOT NULL REFERENCES agent_groups(id),
    agent_id TEXT NOT NULL REFERENCES agents(id), role TEXT NOT NULL DEFAULT 'regular' CHECK (role IN ('regular',
    'supervisor', 'observer', 'specialist')), position INTEGER NOT NULL DEFAULT 0, joined_at TEXT NOT NULL,
    domain TEXT NOT NULL DEFAULT '', capabilities TEXT NOT NULL DEFAULT '[]', model TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (group_id, agent_id)) STRICT;
CREATE TABLE places (id TEXT PRIMARY KEY, source TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL DEFAULT '',
    audience TEXT NOT NULL, within TEXT NOT NULL DEFAULT '[]', group_id TEXT REFERENCES agent_groups(id), cursor TEXT,
    heard_at TEXT NOT NULL) STRICT;
CREATE TABLE messages (id INTEGER PRIMARY KEY, place_id TEXT NOT NULL, agent_id TEXT REFERENCES agents(id),
    person_id TEXT, speaker TEXT NOT NULL DEFAULT '', batch_id INTEGER, sequence_in_batch INTEGER,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool', 'system')), content TEXT NOT NULL,
    tool_call_id TEXT, tool_name TEXT, tool_args TEXT, source TEXT NOT NULL, external_id TEXT,
    source_metadata TEXT NOT NULL DEFAULT '{}', audience TEXT NOT NULL, trust INTEGER NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0, edited_at TEXT, deleted_at TEXT, is_archived INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL, search_text TEXT NOT NULL DEFAULT '') STRICT;
CREATE UNIQUE INDEX messages_external ON messages (source, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX messages_place ON messages (place_id, id);
CREATE INDEX messages_batch ON messages (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX messages_person ON messages (person_id, id);
CREATE INDEX messages_created ON messages (created_at);
CREATE TABLE inbox (id INTEGER PRIMARY KEY, source TEXT NOT NULL, external_id TEXT NOT NULL, kind TEXT NOT NULL,
    place_id TEXT NOT NULL, person_id TEXT, group_id TEXT, message_id INTEGER, payload TEXT NOT NULL,
    audience TEXT NOT NULL, status TEXT NOT NULL CHECK (status IN ('received', 'claimed', 'done', 'dead')),
    alone INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, next_attempt_at TEXT, last_error TEXT,
    turn_id INTEGER, received_at TEXT NOT NULL, done_at TEXT, about_id INTEGER, UNIQUE (source, external_id)) STRICT;
CREATE INDEX inbox_open ON inbox (place_id, id) WHERE status IN ('received', 'claimed');
CREATE INDEX inbox_turn ON inbox (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX inbox_message ON inbox (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX inbox_written ON inbox (place_id, group_id) WHERE source = 'agent' AND status = 'received';
CREATE INDEX inbox_about ON inbox (about_id) WHERE about_id IS NOT NULL;
CREATE TABLE turns (id INTEGER PRIMARY KEY, parent_id INTEGER, agent_id TEXT NOT NULL REFERENCES agents(id),
    group_id TEXT, place_id TEXT NOT NULL, person_id TEXT, audience TEXT NOT NULL, within TEXT NOT NULL DEFAULT '[]',
    trust INTEGER NOT NULL, blocks TEXT NOT NULL DEFAULT '[]', status TEXT NOT NULL CHECK (status IN ('running',
    'suspended', 'done', 'failed', 'cancelled')), restarts INTEGER NOT NULL DEFAULT 0, started_at TEXT NOT NULL,
    ended_at TEXT, error TEXT, away_since TEXT) STRICT;
CREATE INDEX turns_open ON turns (status) WHERE status IN ('running', 'suspended');
CREATE INDEX turns_started ON turns (started_at);
CREATE INDEX turns_parent ON turns (parent_id) WHERE parent_id IS NOT NULL;
CREATE TABLE turn_steps (turn_id INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE, seq INTEGER NOT NULL,
    kind TEXT NOT NULL, body TEXT NOT NULL, audience TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (turn_id,
    seq)) STRICT, WITHOUT ROWID;
CREATE TABLE turn_uses (turn_id INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE, kind TEXT NOT NULL,
    row_id TEXT NOT NULL, audience TEXT NOT NULL, PRIMARY KEY (turn_id, kind, row_id)) STRICT, WITHOUT ROWID;
CREATE INDEX turn_uses_entry ON turn_uses (row_id) WHERE kind = 'entry';
CREATE INDEX turn_uses_message ON turn_uses (row_id) WHERE kind = 'message';
CREATE INDEX turn_uses_summary ON turn_uses (row_id) WHERE kind = 'summary';
CREATE TABLE outbox (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, place_id TEXT NOT NULL, source TEXT NOT NULL,
    turn_id INTEGER, message_id INTEGER, person_id TEXT, agent_id TEXT, kind TEXT NOT NULL CHECK (kind IN ('text',
    'preview')), content TEXT NOT NULL, detail TEXT NOT NULL DEFAULT '{}', audience TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'sending', 'sent', 'failed', 'unknown', 'withdrawn')),
    attempts INTEGER NOT NULL DEFAULT 0, next_attempt_at TEXT, external_id TEXT, last_error TEXT,
    created_at TEXT NOT NULL, sending_at TEXT, sent_at TEXT) STRICT;
CREATE INDEX outbox_open ON outbox (place_id, id) WHERE status IN ('pending', 'sending');
CREATE INDEX outbox_external ON outbox (source, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX outbox_turn ON outbox (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX outbox_previews ON outbox (place_id, id) WHERE kind = 'preview' AND status IN ('sending', 'sent');
CREATE INDEX outbox_undelivered ON outbox (id) WHERE status IN ('failed', 'unknown');
CREATE INDEX outbox_held ON outbox (turn_id, id) WHERE status = 'withdrawn' AND turn_id IS NOT NULL;
CREATE TABLE model_usage (id INTEGER PRIMARY KEY, turn_id INTEGER, agent_id TEXT, person_id TEXT, place_id TEXT,
    model TEXT NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL DEFAULT 0, cache_write_tokens INTEGER NOT NULL DEFAULT 0, cost_usd REAL,
    at TEXT NOT NULL, guild_id TEXT) STRICT;
CREATE INDEX model_usage_at ON model_usage (at);
CREATE TABLE memory_blocks (n INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, agent_id TEXT NOT NULL, label TEXT NOT NULL,
    description TEXT NOT NULL, block_type TEXT NOT NULL CHECK (block_type IN ('core', 'working', 'archival', 'log')),
    schema TEXT NOT NULL DEFAULT '{"type":"text"}', char_limit INTEGER NOT NULL,
    permission TEXT NOT NULL CHECK (permission IN ('read_only', 'partner', 'human', 'append', 'read_write', 'admin')),
    pinned INTEGER NOT NULL DEFAULT 0, person_id TEXT, audience TEXT NOT NULL, trust INTEGER NOT NULL,
    profile TEXT NOT NULL DEFAULT '', content TEXT NOT NULL DEFAULT '', next_seq INTEGER NOT NULL DEFAULT 1,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, deleted_at TEXT, search_text TEXT NOT NULL DEFAULT '',
    sealed_seq INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE UNIQUE INDEX memory_blocks_label ON memory_blocks (agent_id, label, audience) WHERE deleted_at IS NULL;
CREATE TABLE memory_block_writers (block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    writer TEXT NOT NULL, peer INTEGER NOT NULL, PRIMARY KEY (block_id, writer), UNIQUE (block_id, peer)) STRICT,
    WITHOUT ROWID;
CREATE TABLE memory_block_updates (block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    seq INTEGER NOT NULL, update_blob BLOB NOT NULL, digest BLOB NOT NULL, byte_size INTEGER NOT NULL,
    source TEXT NOT NULL, audience TEXT NOT NULL, created_at TEXT NOT NULL, PRIMARY KEY (block_id, seq)) STRICT,
    WITHOUT ROWID;
CREATE TABLE memory_block_checkpoints (block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    up_to_seq INTEGER NOT NULL, snapshot BLOB NOT NULL, digest BLOB NOT NULL, frontier BLOB NOT NULL,
    audience TEXT NOT NULL, created_at TEXT NOT NULL, base_seq INTEGER NOT NULL DEFAULT 0,
    base_text TEXT NOT NULL DEFAULT '', PRIMARY KEY (block_id, up_to_seq)) STRICT, WITHOUT ROWID;
CREATE TABLE shared_block_agents (block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    agent_id TEXT NOT NULL REFERENCES agents(id), permission TEXT NOT NULL CHECK (permission IN ('read_only', 'append',
    'read_write')), attached_at TEXT NOT NULL, PRIMARY KEY (block_id, agent_id)) STRICT, WITHOUT ROWID;
CREATE TABLE archival_entries (n INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, agent_id TEXT NOT NULL, label TEXT,
    content TEXT NOT NULL, category TEXT NOT NULL DEFAULT '', tags TEXT NOT NULL DEFAULT '[]',
    metadata TEXT NOT NULL DEFAULT '{}', importance REAL NOT NULL DEFAULT 0.5, reinforcement INTEGER NOT NULL DEFAULT 0,
    person_id TEXT, message_id INTEGER, turn_id INTEGER, chunk_index INTEGER NOT NULL DEFAULT 0, parent_entry_id TEXT,
    audience TEXT NOT NULL, trust INTEGER NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, last_seen TEXT,
    archived_at TEXT, superseded_by TEXT, search_text TEXT NOT NULL DEFAULT '') STRICT;
CREATE UNIQUE INDEX archival_label ON archival_entries (agent_id, label, audience) WHERE label IS NOT NULL;
CREATE INDEX archival_agent ON archival_entries (agent_id, n);
CREATE INDEX archival_message ON archival_entries (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX archival_person ON archival_entries (person_id, n);
CREATE INDEX archival_parent ON archival_entries (parent_entry_id) WHERE parent_entry_id IS NOT NULL;
CREATE INDEX archival_superseded ON archival_entries (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX archival_retired ON archival_entries (archived_at) WHERE archived_at IS NOT NULL;
CREATE INDEX archival_begins ON archival_entries (agent_id, audience, substr(rtrim(content, ' .!?…'), 1,
    64)) WHERE parent_entry_id IS NULL;
CREATE VIRTUAL TABLE message_fts USING fts5(search_text, content='messages', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO message_fts (message_fts, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE archival_fts USING fts5(search_text, content='archival_entries', content_rowid='n',
    tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO archival_fts (archival_fts, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE block_fts USING fts5(search_text, content='memory_blocks', content_rowid='n',
    tokenize='porter unicode61 remove_diacritics 2');
CREATE TABLE permission_requests (id INTEGER PRIMARY KEY, scope TEXT NOT NULL CHECK (scope IN ('tool_execution',
    'memory_edit', 'memory_batch', 'data_source_action')), subject TEXT NOT NULL,
    agent_id TEXT NOT NULL REFERENCES agents(id), group_id TEXT NOT NULL, turn_id INTEGER NOT NULL,
    call_id TEXT NOT NULL, tool TEXT NOT NULL, arguments TEXT NOT NULL, digest BLOB NOT NULL, covers TEXT NOT NULL,
    pattern TEXT NOT NULL, reason TEXT NOT NULL, place_id TEXT NOT NULL, person_id TEXT, audience TEXT NOT NULL,
    within TEXT NOT NULL DEFAULT '[]', trust INTEGER NOT NULL, approvers TEXT NOT NULL,
    quorum INTEGER NOT NULL DEFAULT 1 CHECK (quorum > 0), once_only INTEGER NOT NULL DEFAULT 0,
    status TEXT NOT NULL CHECK (status IN ('waiting', 'approved', 'denied', 'expired', 'withdrawn', 'used')),
    created_at TEXT NOT NULL, expires_at TEXT NOT NULL, decided_at TEXT, shown TEXT NOT NULL DEFAULT '{}') STRICT;
CREATE UNIQUE INDEX permission_requests_call ON permission_requests (turn_id, call_id) WHERE status = 'waiting';
CREATE INDEX permission_requests_waiting ON permission_requests (expires_at) WHERE status = 'waiting';
CREATE TABLE permission_votes (request_id INTEGER NOT NULL REFERENCES permission_requests(id) ON DELETE CASCADE,
    person_id TEXT NOT NULL, verdict TEXT NOT NULL CHECK (verdict IN ('once', 'hour', 'always', 'deny')),
    audience TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (request_id, person_id)) STRICT, WITHOUT ROWID;
CREATE TABLE permission_grants (id INTEGER PRIMARY KEY, scope TEXT NOT NULL, subject TEXT NOT NULL,
    agent_id TEXT NOT NULL, pattern TEXT NOT NULL, audience TEXT NOT NULL, person_id TEXT NOT NULL, request_id INTEGER,
    created_at TEXT NOT NULL, expires_at TEXT, revoked_at TEXT) STRICT;
CREATE INDEX permission_grants_subject ON permission_grants (scope, subject, agent_id) WHERE revoked_at IS NULL;
CREATE TABLE permission_audit (id INTEGER PRIMARY KEY, event TEXT NOT NULL, request_id INTEGER, grant_id INTEGER,
    person_id TEXT, agent_id TEXT, scope TEXT, digest BLOB, detail TEXT NOT NULL DEFAULT '', audience TEXT NOT NULL,
    at TEXT NOT NULL) STRICT;
CREATE TABLE erasures (id INTEGER PRIMARY KEY, person_id TEXT NOT NULL, before TEXT NOT NULL, answers INTEGER NOT NULL,
    at TEXT NOT NULL) STRICT;
CREATE TABLE memory_block_archives (block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE,
    up_to_seq INTEGER NOT NULL, after_seq INTEGER NOT NULL, blob BLOB NOT NULL, digest BLOB NOT NULL,
    newest_at TEXT NOT NULL, audience TEXT NOT NULL, created_at TEXT NOT NULL, PRIMARY KEY (block_id,
    up_to_seq)) STRICT, WITHOUT ROWID;
CREATE TABLE "memory_block_quarantine" (block_id TEXT NOT NULL, seq INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('update', 'checkpoint', 'archive')), blob BLOB NOT NULL, reason TEXT NOT NULL,
    audience TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (block_id, kind, seq)) STRICT, WITHOUT ROWID;
CREATE TABLE memory_block_repairs (id INTEGER PRIMARY KEY,
    block_id TEXT NOT NULL REFERENCES memory_blocks(id) ON DELETE CASCADE, findings TEXT NOT NULL,
    outcome TEXT NOT NULL, audience TEXT NOT NULL, at TEXT NOT NULL) STRICT;
CREATE INDEX memory_block_repairs_at ON memory_block_repairs (at);
CREATE TABLE vector_models (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE NOT NULL, dimension INTEGER NOT NULL,
    current INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE vectors (id INTEGER PRIMARY KEY, space_id INTEGER NOT NULL REFERENCES vector_spaces(id),
    kind TEXT NOT NULL, row INTEGER NOT NULL, part INTEGER NOT NULL, bits BLOB NOT NULL, vector BLOB NOT NULL,
    tokens BLOB) STRICT;
CREATE INDEX vectors_near ON vectors (space_id, row, part, bits);
CREATE INDEX vectors_row ON vectors (row, kind);
CREATE TABLE vector_queue (kind TEXT NOT NULL, row INTEGER NOT NULL, failed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, row)) STRICT, WITHOUT ROWID;
CREATE TABLE people_rules (subject TEXT PRIMARY KEY, rule TEXT NOT NULL CHECK (rule IN ('allow', 'deny')),
    via TEXT NOT NULL CHECK (via IN ('command', 'code')), decided_by TEXT NOT NULL, decided_at TEXT NOT NULL) STRICT,
    WITHOUT ROWID;
CREATE TABLE pairing_codes (person_id TEXT PRIMARY KEY, name TEXT NOT NULL, code TEXT UNIQUE, told INTEGER NOT NULL,
    audience TEXT NOT NULL, first_at TEXT NOT NULL, expires_at TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE steering (kind TEXT NOT NULL CHECK (kind IN ('mode', 'group', 'pause')), subject TEXT NOT NULL,
    value TEXT NOT NULL, decided_by TEXT NOT NULL, decided_at TEXT NOT NULL, PRIMARY KEY (kind, subject)) STRICT,
    WITHOUT ROWID;
CREATE TABLE group_states (group_id TEXT PRIMARY KEY REFERENCES agent_groups(id) ON DELETE CASCADE, state TEXT NOT NULL,
    updated_at TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE group_runs (turn_id INTEGER PRIMARY KEY REFERENCES turns(id) ON DELETE CASCADE, group_id TEXT NOT NULL,
    pattern TEXT NOT NULL, settings TEXT NOT NULL, conducted INTEGER NOT NULL, plan TEXT NOT NULL DEFAULT '{}',
    outcome TEXT NOT NULL DEFAULT '{}', person_id TEXT, audience TEXT NOT NULL, started_at TEXT NOT NULL,
    ended_at TEXT) STRICT;
CREATE INDEX group_runs_group ON group_runs (group_id, turn_id);
CREATE TABLE group_parts (turn_id INTEGER PRIMARY KEY REFERENCES turns(id) ON DELETE CASCADE,
    run_id INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE, asked_by INTEGER NOT NULL,
    call_id TEXT NOT NULL DEFAULT '', agent_id TEXT NOT NULL REFERENCES agents(id),
    kind TEXT NOT NULL CHECK (kind IN ('answer', 'stage', 'ballot', 'choice', 'task', 'observe')),
    stage INTEGER NOT NULL DEFAULT 0, attempt INTEGER NOT NULL DEFAULT 1, task TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL CHECK (status IN ('running', 'done', 'failed', 'late')), output TEXT NOT NULL DEFAULT '',
    detail TEXT NOT NULL DEFAULT '{}', person_id TEXT, audience TEXT NOT NULL, started_at TEXT NOT NULL,
    ended_at TEXT) STRICT;
CREATE INDEX group_parts_run ON group_parts (run_id, turn_id);
CREATE INDEX group_parts_open ON group_parts (kind) WHERE status = 'running';
CREATE INDEX group_parts_call ON group_parts (asked_by, call_id) WHERE call_id <> '';
CREATE TABLE passed_over (source TEXT NOT NULL, digest TEXT NOT NULL, why TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (source, digest)) STRICT, WITHOUT ROWID;
CREATE INDEX passed_over_at ON passed_over (at);
CREATE TABLE jobs (id TEXT PRIMARY KEY, kind TEXT NOT NULL, payload TEXT NOT NULL DEFAULT '{}',
    trigger_json TEXT NOT NULL, person_id TEXT, audience TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'done', 'failed')), next_at TEXT,
    asked_at TEXT, held_until TEXT, holder TEXT, grace_seconds REAL, attempts INTEGER NOT NULL DEFAULT 0,
    last_due_at TEXT, last_run_at TEXT, last_outcome TEXT NOT NULL DEFAULT '', last_detail TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL, wake_at TEXT GENERATED ALWAYS AS (CASE WHEN held_until IS NOT NULL THEN held_until WHEN
    asked_at IS NOT NULL THEN asked_at WHEN status = 'active' THEN next_at END) VIRTUAL) STRICT;
CREATE INDEX jobs_wake ON jobs (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX jobs_person ON jobs (person_id) WHERE person_id IS NOT NULL;
CREATE TABLE activity_events (id INTEGER PRIMARY KEY, event_type TEXT NOT NULL CHECK (event_type IN ('agent_activated',
    'agent_deactivated', 'message_received', 'message_sent', 'tool_executed', 'memory_block_updated', 'file_accessed',
    'task_assigned', 'handoff_initiated', 'notable')), agent_id TEXT, person_id TEXT, place_id TEXT, turn_id INTEGER,
    message_id INTEGER, words TEXT NOT NULL, details TEXT NOT NULL DEFAULT '{}',
    importance TEXT CHECK (importance IN ('low', 'medium', 'high', 'critical')), audience TEXT NOT NULL,
    trust INTEGER NOT NULL, at TEXT NOT NULL, search_text TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX activity_heard ON activity_events (audience, at);
CREATE INDEX activity_at ON activity_events (at);
CREATE INDEX activity_message ON activity_events (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX activity_turn ON activity_events (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX activity_person ON activity_events (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX activity_agent ON activity_events (agent_id, at);
CREATE VIRTUAL TABLE activity_fts USING fts5(search_text, content='activity_events', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO activity_fts (activity_fts, rank) VALUES ('secure-delete', 1);
CREATE TABLE agent_presence (agent_id TEXT NOT NULL, audience TEXT NOT NULL, last_active TEXT NOT NULL,
    active INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (agent_id, audience)) STRICT, WITHOUT ROWID;
CREATE TABLE coordination_tasks (id TEXT PRIMARY KEY, description TEXT NOT NULL, assigned_to TEXT, assigned_by TEXT,
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'in_progress', 'completed', 'cancelled')),
    priority TEXT NOT NULL DEFAULT 'medium' CHECK (priority IN ('low', 'medium', 'high', 'critical')), person_id TEXT,
    turn_id INTEGER, message_id INTEGER, audience TEXT NOT NULL, trust INTEGER NOT NULL, created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL) STRICT;
CREATE INDEX coordination_tasks_open ON coordination_tasks (audience, id) WHERE status IN ('pending', 'in_progress');
CREATE INDEX coordination_tasks_turn ON coordination_tasks (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX coordination_tasks_message ON coordination_tasks (message_id) WHERE message_id IS NOT NULL;
CREATE TABLE handoff_notes (id TEXT PRIMARY KEY, from_agent TEXT, to_agent TEXT, content TEXT NOT NULL, person_id TEXT,
    turn_id INTEGER, message_id INTEGER, audience TEXT NOT NULL, trust INTEGER NOT NULL,
    created_at TEXT NOT NULL) STRICT;
CREATE INDEX handoff_notes_heard ON handoff_notes (audience, id);
CREATE INDEX handoff_notes_turn ON handoff_notes (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX handoff_notes_message ON handoff_notes (message_id) WHERE message_id IS NOT NULL;
CREATE TABLE handoff_reads (note_id TEXT NOT NULL REFERENCES handoff_notes(id) ON DELETE CASCADE,
    audience TEXT NOT NULL, turn_id INTEGER NOT NULL, at TEXT NOT NULL, PRIMARY KEY (note_id, audience)) STRICT,
    WITHOUT ROWID;
CREATE TABLE notable_events (id TEXT PRIMARY KEY, event_type TEXT NOT NULL, description TEXT NOT NULL,
    agents_involved TEXT NOT NULL DEFAULT '[]', importance TEXT NOT NULL CHECK (importance IN ('low', 'medium', 'high',
    'critical')), person_id TEXT, turn_id INTEGER, message_id INTEGER, audience TEXT NOT NULL, trust INTEGER NOT NULL,
    at TEXT NOT NULL) STRICT;
CREATE INDEX notable_events_heard ON notable_events (audience, at);
CREATE INDEX notable_events_turn ON notable_events (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX notable_events_message ON notable_events (message_id) WHERE message_id IS NOT NULL;
CREATE TABLE archive_summaries (id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, place_id TEXT NOT NULL,
    strategy TEXT NOT NULL CHECK (strategy IN ('truncate', 'recursive_summarization', 'importance', 'time_decay')),
    summary TEXT NOT NULL, kept TEXT NOT NULL DEFAULT '[]', start_position INTEGER NOT NULL,
    end_position INTEGER NOT NULL, message_count INTEGER NOT NULL, depth INTEGER NOT NULL, previous_id TEXT,
    model TEXT NOT NULL DEFAULT '', audience TEXT NOT NULL, trust INTEGER NOT NULL, created_at TEXT NOT NULL) STRICT;
CREATE INDEX archive_summaries_view ON archive_summaries (agent_id, place_id, audience, end_position);
CREATE INDEX archive_summaries_span ON archive_summaries (place_id, end_position);
CREATE TABLE agent_summaries (agent_id TEXT NOT NULL, summary TEXT NOT NULL, messages_covered INTEGER NOT NULL,
    start_position INTEGER NOT NULL, end_position INTEGER NOT NULL, audience TEXT NOT NULL, trust INTEGER NOT NULL,
    generated_at TEXT NOT NULL, model TEXT NOT NULL DEFAULT '', PRIMARY KEY (agent_id, audience)) STRICT, WITHOUT ROWID;
CREATE TABLE constellation_summaries (id TEXT PRIMARY KEY, period_start TEXT NOT NULL, period_end TEXT NOT NULL,
    summary TEXT NOT NULL, key_decisions TEXT NOT NULL DEFAULT '[]', open_threads TEXT NOT NULL DEFAULT '[]',
    start_position INTEGER NOT NULL, end_position INTEGER NOT NULL, audience TEXT NOT NULL, trust INTEGER NOT NULL,
    created_at TEXT NOT NULL, model TEXT NOT NULL DEFAULT '', span TEXT NOT NULL DEFAULT 'day' CHECK (span IN ('day',
    'week')), message_count INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX constellation_summaries_heard ON constellation_summaries (audience, period_end);
CREATE UNIQUE INDEX constellation_summaries_once ON constellation_summaries (audience, span, period_start);
CREATE TABLE budgets (subject TEXT NOT NULL, period TEXT NOT NULL CHECK (period IN ('day', 'month')), usd REAL,
    tokens INTEGER, decided_by TEXT NOT NULL, decided_at TEXT NOT NULL, PRIMARY KEY (subject, period)) STRICT,
    WITHOUT ROWID;
CREATE TABLE budget_reservations (id INTEGER PRIMARY KEY, turn_id INTEGER NOT NULL, agent_id TEXT NOT NULL,
    person_id TEXT, guild_id TEXT, usd REAL, tokens INTEGER NOT NULL, at TEXT NOT NULL) STRICT;
CREATE TABLE folders (id TEXT PRIMARY KEY, name TEXT UNIQUE NOT NULL, description TEXT NOT NULL DEFAULT '',
    path_type TEXT NOT NULL CHECK (path_type IN ('local', 'virtual')), path_value TEXT NOT NULL DEFAULT '',
    audience TEXT NOT NULL, created_at TEXT NOT NULL, indexed_at TEXT) STRICT;
CREATE TABLE folder_files (id TEXT PRIMARY KEY, folder_id TEXT NOT NULL REFERENCES folders(id) ON DELETE CASCADE,
    name TEXT NOT NULL, content_type TEXT NOT NULL, size_bytes INTEGER NOT NULL, modified INTEGER NOT NULL DEFAULT 0,
    digest TEXT NOT NULL, content BLOB, people TEXT NOT NULL DEFAULT '[]', note TEXT NOT NULL DEFAULT '',
    audience TEXT NOT NULL, trust INTEGER NOT NULL, uploaded_at TEXT NOT NULL, indexed_at TEXT NOT NULL,
    UNIQUE (folder_id, name)) STRICT;
CREATE TABLE file_passages (n INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL,
    file_id TEXT NOT NULL REFERENCES folder_files(id) ON DELETE CASCADE, folder_id TEXT NOT NULL, content TEXT NOT NULL,
    start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, search_text TEXT NOT NULL, audience TEXT NOT NULL,
    trust INTEGER NOT NULL, created_at TEXT NOT NULL) STRICT;
CREATE INDEX file_passages_file ON file_passages (file_id, n);
CREATE INDEX file_passages_folder ON file_passages (folder_id, n);
CREATE TABLE folder_attachments (folder_id TEXT NOT NULL REFERENCES folders(id) ON DELETE CASCADE,
    agent_id TEXT NOT NULL, access TEXT NOT NULL CHECK (access IN ('read', 'read_write')), attached_at TEXT NOT NULL,
    PRIMARY KEY (folder_id, agent_id)) STRICT, WITHOUT ROWID;
CREATE INDEX folder_attachments_agent ON folder_attachments (agent_id);
CREATE VIRTUAL TABLE passage_fts USING fts5(search_text, content='file_passages', content_rowid='n',
    tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO passage_fts (passage_fts, rank) VALUES ('secure-delete', 1);
CREATE TABLE vector_spaces (id INTEGER PRIMARY KEY AUTOINCREMENT,
    model_id INTEGER NOT NULL REFERENCES vector_models(id), kind TEXT NOT NULL, view TEXT NOT NULL,
    agent_id TEXT NOT NULL, audience TEXT NOT NULL, UNIQUE (model_id, kind, view, agent_id, audience)) STRICT;
CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT NOT NULL, notes TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'in_progress', 'completed', 'cancelled')),
    priority TEXT NOT NULL DEFAULT 'medium' CHECK (priority IN ('low', 'medium', 'high', 'urgent')),
    parent_id INTEGER REFERENCES tasks(id) ON DELETE SET NULL, agent_id TEXT REFERENCES agents(id), person_id TEXT,
    audience TEXT NOT NULL, trust INTEGER NOT NULL, due_at TEXT, done_at TEXT, created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL, search_text TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX tasks_open ON tasks (status, id);
CREATE INDEX tasks_person ON tasks (person_id) WHERE person_id IS NOT NULL;
CREATE TABLE reminders (id INTEGER PRIMARY KEY, text TEXT NOT NULL, person_id TEXT, agent_id TEXT REFERENCES agents(id),
    place_id TEXT NOT NULL, audience TEXT NOT NULL, trust INTEGER NOT NULL, trigger_json TEXT NOT NULL,
    zone TEXT NOT NULL, urgent INTEGER NOT NULL DEFAULT 0, escalate_minutes INTEGER NOT NULL DEFAULT 0,
    status TEXT NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'told', 'escalated', 'done', 'cancelled')),
    told_at TEXT, told_key TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL) STRICT;
CREATE INDEX reminders_open ON reminders (status, id);
CREATE INDEX reminders_person ON reminders (person_id) WHERE person_id IS NOT NULL;
CREATE TABLE person_times (person_id TEXT PRIMARY KEY, zone TEXT NOT NULL DEFAULT '',
    quiet_from TEXT NOT NULL DEFAULT '', quiet_until TEXT NOT NULL DEFAULT '', updated_at TEXT NOT NULL) STRICT,
    WITHOUT ROWID;
CREATE TABLE events (id INTEGER PRIMARY KEY, title TEXT NOT NULL, notes TEXT NOT NULL DEFAULT '',
    starts_at TEXT NOT NULL, ends_at TEXT, trigger_json TEXT NOT NULL, zone TEXT NOT NULL, reminder_minutes INTEGER,
    status TEXT NOT NULL DEFAULT 'planned' CHECK (status IN ('planned', 'cancelled')),
    agent_id TEXT REFERENCES agents(id), person_id TEXT, place_id TEXT NOT NULL, audience TEXT NOT NULL,
    trust INTEGER NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL) STRICT;
CREATE INDEX events_status ON events (status, starts_at);
CREATE INDEX events_person ON events (person_id) WHERE person_id IS NOT NULL;
CREATE TABLE working_memory (id INTEGER PRIMARY KEY, key TEXT NOT NULL, namespace TEXT NOT NULL, content TEXT NOT NULL,
    category TEXT NOT NULL DEFAULT '', tags TEXT NOT NULL DEFAULT '[]', index_key TEXT, agent_id TEXT, person_id TEXT,
    turn_id INTEGER, message_id INTEGER, audience TEXT NOT NULL, trust INTEGER NOT NULL, stored_at TEXT NOT NULL,
    expires_at TEXT NOT NULL) STRICT;
CREATE UNIQUE INDEX working_memory_key ON working_memory (namespace, audience, key);
CREATE INDEX working_memory_expiry ON working_memory (expires_at);
CREATE INDEX working_memory_turn ON working_memory (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX working_memory_message ON working_memory (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX working_memory_person ON working_memory (person_id) WHERE person_id IS NOT NULL;
CREATE TABLE sessions (id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, place_id TEXT NOT NULL,
    start_position INTEGER NOT NULL, end_position INTEGER NOT NULL, ended INTEGER NOT NULL DEFAULT 0,
    what TEXT NOT NULL DEFAULT '', decisions TEXT NOT NULL DEFAULT '[]', files TEXT NOT NULL DEFAULT '[]',
    commits TEXT NOT NULL DEFAULT '[]', unfinished TEXT NOT NULL DEFAULT '[]', input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0, audience TEXT NOT NULL, trust INTEGER NOT NULL, started_at TEXT NOT NULL,
    last_at TEXT NOT NULL) STRICT;
CREATE INDEX sessions_agent ON sessions (agent_id, audience, ended, last_at);
CREATE INDEX sessions_open ON sessions (last_at) WHERE ended = 0;
CREATE INDEX sessions_span ON sessions (place_id, end_position);
CREATE TABLE facts (id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL,
    category TEXT NOT NULL CHECK (category IN ('user_preference', 'codebase_pattern', 'workflow_habit',
    'lesson_learned')), fact TEXT NOT NULL, person_id TEXT, reinforcements INTEGER NOT NULL DEFAULT 1,
    superseded_by INTEGER, shared_at TEXT, confirmed_by TEXT NOT NULL DEFAULT '[]', audience TEXT NOT NULL,
    trust INTEGER NOT NULL, created_at TEXT NOT NULL, last_seen TEXT NOT NULL,
    search_text TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX facts_agent ON facts (agent_id, audience, person_id);
CREATE INDEX facts_shared ON facts (audience) WHERE shared_at IS NOT NULL;
CREATE INDEX facts_person ON facts (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX facts_superseded ON facts (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE TABLE fact_sources (id INTEGER PRIMARY KEY, fact_id INTEGER NOT NULL REFERENCES facts(id) ON DELETE CASCADE,
    origin TEXT NOT NULL CHECK (origin IN ('said', 'tool', 'agent', 'hand')), session_id INTEGER NOT NULL,
    message_id INTEGER, wording TEXT NOT NULL, search_text TEXT NOT NULL, audience TEXT NOT NULL,
    trust INTEGER NOT NULL, at TEXT NOT NULL) STRICT;
CREATE INDEX fact_sources_fact ON fact_sources (fact_id);
CREATE INDEX fact_sources_message ON fact_sources (message_id) WHERE message_id IS NOT NULL;
CREATE VIRTUAL TABLE facts_fts USING fts5(search_text, content='facts', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO facts_fts (facts_fts, rank) VALUES ('secure-delete', 1);
CREATE TABLE work_states (agent_id TEXT NOT NULL, place_id TEXT NOT NULL, turn_id INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('failed', 'cancelled')), prompt TEXT NOT NULL, summary TEXT NOT NULL,
    decisions TEXT NOT NULL, next_steps TEXT NOT NULL, unfinished TEXT NOT NULL, files TEXT NOT NULL,
    commits TEXT NOT NULL, last_activity TEXT NOT NULL, messages TEXT NOT NULL, person_id TEXT, audience TEXT NOT NULL,
    trust INTEGER NOT NULL, at TEXT NOT NULL, PRIMARY KEY (agent_id, place_id, audience)) STRICT, WITHOUT ROWID;
CREATE INDEX work_states_person ON work_states (person_id) WHERE person_id IS NOT NULL;
CREATE TABLE archival_journal (id INTEGER PRIMARY KEY, turn_id INTEGER NOT NULL, entry_id TEXT NOT NULL,
    deed TEXT NOT NULL CHECK (deed IN ('insert', 'change', 'delete')), before TEXT NOT NULL DEFAULT '',
    after TEXT NOT NULL DEFAULT '', people TEXT NOT NULL DEFAULT '[]', messages TEXT NOT NULL DEFAULT '[]',
    audience TEXT NOT NULL, at TEXT NOT NULL, undone_at TEXT) STRICT;
CREATE INDEX archival_journal_turn ON archival_journal (turn_id);
CREATE INDEX archival_journal_entry ON archival_journal (entry_id);
CREATE TABLE dream_changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER NOT NULL UNIQUE) STRICT;
CREATE TABLE dream_marks (pass TEXT NOT NULL, agent_id TEXT NOT NULL, audience TEXT NOT NULL, trust INTEGER NOT NULL,
    mark INTEGER NOT NULL, at TEXT NOT NULL, PRIMARY KEY (pass, agent_id, audience, trust)) STRICT, WITHOUT ROWID;
CREATE TABLE dream_runs (id TEXT PRIMARY KEY, at TEXT NOT NULL, outcome TEXT NOT NULL CHECK (outcome IN ('done',
    'refused', 'undone')), notes TEXT NOT NULL DEFAULT '[]', undone_at TEXT) STRICT;
CREATE INDEX dream_runs_at ON dream_runs (at);
CREATE TABLE dream_tallies (run_id TEXT NOT NULL REFERENCES dream_runs (id) ON DELETE CASCADE, agent_id TEXT NOT NULL,
    living INTEGER NOT NULL, retired INTEGER NOT NULL, made INTEGER NOT NULL, refined INTEGER NOT NULL,
    PRIMARY KEY (run_id, agent_id)) STRICT, WITHOUT ROWID;
CREATE TABLE dream_items (n INTEGER PRIMARY KEY, run_id TEXT NOT NULL REFERENCES dream_runs (id) ON DELETE CASCADE,
    agent_id TEXT NOT NULL, pass TEXT NOT NULL, action TEXT NOT NULL CHECK (action IN ('made', 'merged', 'retired',
    'refined')), entry_id TEXT NOT NULL, into_id TEXT, before TEXT NOT NULL DEFAULT '{}', after TEXT NOT NULL,
    audience TEXT NOT NULL, trust INTEGER NOT NULL) STRICT;
CREATE INDEX dream_items_run ON dream_items (run_id);
CREATE INDEX dream_items_entry ON dream_items (entry_id);
CREATE TABLE feedback (id INTEGER PRIMARY KEY, kind TEXT NOT NULL CHECK (kind IN ('correction', 'thumbs_up',
    'thumbs_down', 'tool_failure')), agent_id TEXT NOT NULL, person_id TEXT, place_id TEXT NOT NULL, turn_id INTEGER,
    message_id INTEGER, tool TEXT NOT NULL DEFAULT '', audience TEXT NOT NULL, trust INTEGER NOT NULL,
    at TEXT NOT NULL) STRICT;
CREATE INDEX feedback_agent ON feedback (agent_id, id);
CREATE INDEX feedback_message ON feedback (message_id) WHERE message_id IS NOT NULL;
CREATE TABLE agent_messages (inbox_id INTEGER PRIMARY KEY, root_id INTEGER NOT NULL, turn_id INTEGER NOT NULL,
    from_agent TEXT NOT NULL REFERENCES agents(id), to_agent TEXT, to_group TEXT NOT NULL,
    sent_at TEXT NOT NULL) STRICT;
CREATE INDEX agent_messages_root ON agent_messages (root_id);
CREATE INDEX agent_messages_turn ON agent_messages (turn_id);
CREATE INDEX agent_messages_sent ON agent_messages (sent_at);
CREATE TABLE person_states (person_id TEXT NOT NULL, audience TEXT NOT NULL, state TEXT NOT NULL, said_at TEXT NOT NULL,
    PRIMARY KEY (person_id, audience)) STRICT, WITHOUT ROWID;
CREATE TABLE graph_triples (id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, agent_id TEXT NOT NULL,
    entry_id TEXT NOT NULL, subject TEXT NOT NULL, subject_kind TEXT NOT NULL, subject_key TEXT NOT NULL,
    relation TEXT NOT NULL, relation_key TEXT NOT NULL, object TEXT NOT NULL, object_kind TEXT NOT NULL,
    object_key TEXT NOT NULL, audience TEXT NOT NULL, trust INTEGER NOT NULL, at TEXT NOT NULL) STRICT;
CREATE INDEX graph_subject ON graph_triples (agent_id, subject_key);
CREATE INDEX graph_object ON graph_triples (agent_id, object_key);
CREATE INDEX graph_entry ON graph_triples (entry_id);
CREATE INDEX graph_run ON graph_triples (run_id);
CREATE TABLE project_learnings (id INTEGER PRIMARY KEY, kind TEXT NOT NULL CHECK (kind IN ('review', 'preference',
    'project')), text TEXT NOT NULL, key TEXT NOT NULL, tech TEXT NOT NULL DEFAULT '', times INTEGER NOT NULL DEFAULT 1,
    ratings TEXT NOT NULL DEFAULT '{}', messages TEXT NOT NULL DEFAULT '[]', person_id TEXT NOT NULL,
    audience TEXT NOT NULL, trust INTEGER NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL) STRICT;
CREATE INDEX project_learnings_heard ON project_learnings (audience, kind);
CREATE INDEX project_learnings_person ON project_learnings (person_id);
CREATE TABLE session_evaluations (session_id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL,
    quality TEXT NOT NULL CHECK (quality IN ('good', 'fair', 'poor')), worked TEXT NOT NULL DEFAULT '[]',
    failed TEXT NOT NULL DEFAULT '[]', judged_by TEXT NOT NULL CHECK (judged_by IN ('model', 'rules')),
    audience TEXT NOT NULL, trust INTEGER NOT NULL, at TEXT NOT NULL) STRICT;
CREATE INDEX session_evaluations_at ON session_evaluations (at);
CREATE VIRTUAL TABLE task_fts USING fts5(search_text, content='tasks', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO task_fts (task_fts, rank) VALUES ('secure-delete', 1);
CREATE TABLE entry_expansions (source_id TEXT NOT NULL, entry_id TEXT NOT NULL, PRIMARY KEY (source_id,
    entry_id)) STRICT, WITHOUT ROWID;
CREATE INDEX entry_expansions_entry ON entry_expansions (entry_id);
CREATE TABLE constellation_blocks (label TEXT PRIMARY KEY, seed TEXT NOT NULL, permissions TEXT NOT NULL) STRICT,
    WITHOUT ROWID;
CREATE TABLE summary_texts (n INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL,
    of TEXT NOT NULL CHECK (of IN ('conversation', 'agent', 'day', 'week')), agent_id TEXT, place_id TEXT,
    start_position INTEGER NOT NULL, end_position INTEGER NOT NULL, text TEXT NOT NULL, audience TEXT NOT NULL,
    trust INTEGER NOT NULL, at TEXT NOT NULL, search_text TEXT NOT NULL) STRICT;
CREATE INDEX summary_texts_heard ON summary_texts (audience, at);
CREATE UNIQUE INDEX summary_texts_agent ON summary_texts (agent_id, audience) WHERE of = 'agent';
CREATE VIRTUAL TABLE summary_fts USING fts5(search_text, content='summary_texts', content_rowid='n',
    tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO summary_fts (summary_fts, rank) VALUES ('secure-delete', 1);
CREATE TABLE index_queue (kind TEXT NOT NULL CHECK (kind IN ('block', 'event')), row INTEGER NOT NULL,
    PRIMARY KEY (kind, row)) STRICT, WITHOUT ROWID;
CREATE TRIGGER message_fts_insert AFTER INSERT ON messages WHEN new.search_text <> '' BEGIN
    INSERT INTO message_fts (rowid, search_text) VALUES (new.id, new.search_text); END;
CREATE TRIGGER message_fts_delete AFTER DELETE ON messages WHEN old.search_text <> '' BEGIN
    INSERT INTO message_fts (message_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text); END;
CREATE TRIGGER message_fts_update AFTER UPDATE OF search_text ON messages BEGIN INSERT INTO message_fts (message_fts,
    rowid, search_text) SELECT 'delete', old.id, old.search_text WHERE old.search_text <> '';
    INSERT INTO message_fts (rowid, search_text) SELECT new.id, new.search_text WHERE new.search_text <> ''; END;
CREATE TRIGGER archival_fts_insert AFTER INSERT ON archival_entries BEGIN INSERT INTO archival_fts (rowid,
    search_text) VALUES (new.n, new.search_text); END;
CREATE TRIGGER archival_fts_delete AFTER DELETE ON archival_entries BEGIN INSERT INTO archival_fts (archival_fts, rowid,
    search_text) VALUES ('delete', old.n, old.search_text); END;
CREATE TRIGGER archival_fts_update AFTER UPDATE OF search_text ON archival_entries BEGIN
    INSERT INTO archival_fts (archival_fts, rowid, search_text) VALUES ('delete', old.n, old.search_text);
    INSERT INTO archival_fts (rowid, search_text) VALUES (new.n, new.search_text); END;
CREATE TRIGGER block_fts_insert AFTER INSERT ON memory_blocks BEGIN INSERT INTO block_fts (rowid,
    search_text) VALUES (new.n, new.search_text); END;
CREATE TRIGGER block_fts_delete AFTER DELETE ON memory_blocks BEGIN INSERT INTO block_fts (block_fts, rowid,
    search_text) VALUES ('delete', old.n, old.search_text); END;
CREATE TRIGGER block_fts_update AFTER UPDATE OF search_text ON memory_blocks BEGIN INSERT INTO block_fts (block_fts,
    rowid, search_text) VALUES ('delete', old.n, old.search_text); INSERT INTO block_fts (rowid,
    search_text) VALUES (new.n, new.search_text); END;
CREATE TRIGGER permission_audit_stays BEFORE DELETE ON permission_audit BEGIN SELECT raise(ABORT,
    'the record of permissions is append only'); END;
CREATE TRIGGER permission_audit_says BEFORE UPDATE ON permission_audit WHEN old.event <> new.event OR old.at <> new.at
    OR old.request_id IS NOT new.request_id OR old.grant_id IS NOT new.grant_id OR old.agent_id IS NOT new.agent_id OR
    old.detail <> new.detail OR old.scope IS NOT new.scope OR (new.digest IS NOT NULL AND old.digest IS NOT new.digest)
    OR (new.person_id IS NOT NULL AND old.person_id IS NOT new.person_id) BEGIN SELECT raise(ABORT,
    'the record of permissions is append only'); END;
CREATE TRIGGER vector_spaces_empty AFTER DELETE ON vectors WHEN NOT EXISTS (SELECT 1 FROM vectors WHERE space_id =
    old.space_id) BEGIN DELETE FROM vector_spaces WHERE id = old.space_id; END;
CREATE TRIGGER vectors_message_new AFTER INSERT ON messages WHEN new.search_text <> '' BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('message', new.id) ON CONFLICT DO UPDATE SET failed = 0; END;
CREATE TRIGGER vectors_message_changed AFTER UPDATE OF content, search_text, speaker, audience ON messages WHEN
    new.content <> old.content OR new.search_text <> old.search_text OR new.speaker <> old.speaker OR new.audience <>
    old.audience BEGIN DELETE FROM vector_queue WHERE kind = 'message' AND row = old.id;
    DELETE FROM vectors WHERE kind = 'message' AND row IN (old.id, (SELECT id FROM messages WHERE place_id =
    old.place_id AND id > old.id AND audience = old.audience AND search_text <> '' ORDER BY id LIMIT 1), (SELECT id FROM
    messages WHERE place_id = old.place_id AND id > old.id AND audience = new.audience AND search_text <> '' ORDER BY id
    LIMIT 1)); INSERT INTO vector_queue (kind, row) SELECT 'message',
    id FROM messages WHERE search_text <> '' AND id IN (old.id, (SELECT id FROM messages WHERE place_id = old.place_id
    AND id > old.id AND audience = old.audience AND search_text <> '' ORDER BY id LIMIT 1), (SELECT id FROM messages
    WHERE place_id = old.place_id AND id > old.id AND audience = new.audience AND search_text <> '' ORDER BY id LIMIT
    1)) ON CONFLICT DO UPDATE SET failed = 0; END;
CREATE TRIGGER vectors_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM vector_queue WHERE kind = 'message' AND row = old.id;
    DELETE FROM vectors WHERE kind = 'message' AND row IN (old.id, (SELECT id FROM messages WHERE place_id =
    old.place_id AND id > old.id AND audience = old.audience AND search_text <> '' ORDER BY id LIMIT 1));
    INSERT INTO vector_queue (kind, row) SELECT 'message', id FROM messages WHERE id = (SELECT id FROM messages WHERE
    place_id = old.place_id AND id > old.id AND audience = old.audience AND search_text <> '' ORDER BY id LIMIT 1) ON
    CONFLICT DO UPDATE SET failed = 0; END;
CREATE TRIGGER vectors_entry_new AFTER INSERT ON archival_entries WHEN new.search_text <> '' BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('entry', new.n) ON CONFLICT DO UPDATE SET failed = 0; END;
CREATE TRIGGER vectors_entry_changed AFTER UPDATE OF content, search_text, audience, agent_id, archived_at,
    superseded_by ON archival_entries WHEN new.content <> old.content OR new.search_text <> old.search_text OR
    new.audience <> old.audience OR new.agent_id <> old.agent_id OR new.archived_at IS NOT old.archived_at OR
    new.superseded_by IS NOT old.superseded_by BEGIN DELETE FROM vector_queue WHERE kind = 'entry' AND row = old.n;
    DELETE FROM vectors WHERE kind = 'entry' AND row = old.n; INSERT INTO vector_queue (kind, row) SELECT 'entry',
    new.n WHERE new.archived_at IS NULL AND new.superseded_by IS NULL AND new.search_text <> ''; END;
CREATE TRIGGER vectors_entry_gone AFTER DELETE ON archival_entries BEGIN
    DELETE FROM vector_queue WHERE kind = 'entry' AND row = old.n;
    DELETE FROM vectors WHERE kind = 'entry' AND row = old.n; END;
CREATE TRIGGER vectors_block_new AFTER INSERT ON memory_blocks WHEN new.deleted_at IS NULL BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('block', new.n) ON CONFLICT DO UPDATE SET failed = 0; END;
CREATE TRIGGER vectors_block_changed AFTER UPDATE OF content, profile, label, description, audience, agent_id,
    deleted_at ON memory_blocks WHEN new.content <> old.content OR new.profile <> old.profile OR new.label <> old.label
    OR new.description <> old.description OR new.audience <> old.audience OR new.agent_id <> old.agent_id OR
    new.deleted_at IS NOT old.deleted_at BEGIN DELETE FROM vector_queue WHERE kind = 'block' AND row = old.n;
    DELETE FROM vectors WHERE kind = 'block' AND row = old.n; INSERT INTO vector_queue (kind, row) SELECT 'block',
    new.n WHERE new.deleted_at IS NULL; END;
CREATE TRIGGER vectors_block_gone AFTER DELETE ON memory_blocks BEGIN
    DELETE FROM vector_queue WHERE kind = 'block' AND row = old.n;
    DELETE FROM vectors WHERE kind = 'block' AND row = old.n; END;
CREATE TRIGGER coordination_message_changed AFTER UPDATE OF deleted_at, audience ON messages WHEN (new.deleted_at IS NOT
    NULL AND old.deleted_at IS NULL) OR new.audience <> old.audience BEGIN
    DELETE FROM coordination_tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM handoff_notes WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM notable_events WHERE message_id = old.id OR turn_id = old.batch_id; DELETE FROM activity_events WHERE
    (message_id = old.id OR turn_id = old.batch_id) AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
    END;
CREATE TRIGGER coordination_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM coordination_tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM handoff_notes WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM notable_events WHERE message_id = old.id OR turn_id = old.batch_id; DELETE FROM activity_events WHERE
    (message_id = old.id OR turn_id = old.batch_id) AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
    END;
CREATE TRIGGER summaries_message_changed AFTER UPDATE OF content, audience, deleted_at ON messages WHEN new.content <>
    old.content OR new.audience <> old.audience OR new.deleted_at IS NOT old.deleted_at BEGIN DELETE FROM
    archive_summaries WHERE place_id = old.place_id AND audience = old.audience AND end_position >=
    coalesce(old.batch_id, old.id) AND start_position <= coalesce(old.batch_id, old.id);
    DELETE FROM agent_summaries WHERE audience = old.audience AND end_position >= old.id AND start_position <= old.id;
    DELETE FROM constellation_summaries WHERE audience = old.audience AND end_position >= old.id AND start_position <=
    old.id; END;
CREATE TRIGGER summaries_message_gone AFTER DELETE ON messages BEGIN DELETE FROM archive_summaries WHERE place_id =
    old.place_id AND audience = old.audience AND end_position >= coalesce(old.batch_id,
    old.id) AND start_position <= coalesce(old.batch_id, old.id);
    DELETE FROM agent_summaries WHERE audience = old.audience AND end_position >= old.id AND start_position <= old.id;
    DELETE FROM constellation_summaries WHERE audience = old.audience AND end_position >= old.id AND start_position <=
    old.id; END;
CREATE TRIGGER passage_fts_insert AFTER INSERT ON file_passages BEGIN INSERT INTO passage_fts (rowid,
    search_text) VALUES (new.n, new.search_text); END;
CREATE TRIGGER passage_fts_delete AFTER DELETE ON file_passages BEGIN INSERT INTO passage_fts (passage_fts, rowid,
    search_text) VALUES ('delete', old.n, old.search_text); END;
CREATE TRIGGER vectors_passage_new AFTER INSERT ON file_passages WHEN new.search_text <> '' BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('passage', new.n) ON CONFLICT DO UPDATE SET failed = 0; END;
CREATE TRIGGER vectors_passage_changed AFTER UPDATE OF audience ON file_passages WHEN new.audience <> old.audience BEGIN
    DELETE FROM vectors WHERE kind = 'passage' AND row = old.n; INSERT INTO vector_queue (kind, row) VALUES ('passage',
    new.n) ON CONFLICT DO UPDATE SET failed = 0; END;
CREATE TRIGGER vectors_passage_gone AFTER DELETE ON file_passages BEGIN
    DELETE FROM vector_queue WHERE kind = 'passage' AND row = old.n;
    DELETE FROM vectors WHERE kind = 'passage' AND row = old.n; END;
CREATE TRIGGER working_memory_message_changed AFTER UPDATE OF deleted_at, audience ON messages WHEN (new.deleted_at IS
    NOT NULL AND old.deleted_at IS NULL) OR new.audience <> old.audience BEGIN
    DELETE FROM working_memory WHERE message_id = old.id OR turn_id = old.batch_id; END;
CREATE TRIGGER working_memory_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM working_memory WHERE message_id = old.id OR turn_id = old.batch_id; END;
CREATE TRIGGER facts_fts_insert AFTER INSERT ON facts BEGIN INSERT INTO facts_fts (rowid, search_text) VALUES (new.id,
    new.search_text); END;
CREATE TRIGGER facts_fts_delete AFTER DELETE ON facts BEGIN INSERT INTO facts_fts (facts_fts, rowid,
    search_text) VALUES ('delete', old.id, old.search_text); END;
CREATE TRIGGER facts_fts_update AFTER UPDATE OF search_text ON facts WHEN new.search_text <> old.search_text BEGIN
    INSERT INTO facts_fts (facts_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
    INSERT INTO facts_fts (rowid, search_text) VALUES (new.id, new.search_text); END;
CREATE TRIGGER facts_gone AFTER DELETE ON facts BEGIN
    UPDATE facts SET superseded_by = NULL WHERE superseded_by = old.id; END;
CREATE TRIGGER fact_sources_gone AFTER DELETE ON fact_sources BEGIN
    DELETE FROM facts WHERE id = old.fact_id AND NOT EXISTS (SELECT 1 FROM fact_sources WHERE fact_id = old.fact_id);
    UPDATE facts SET fact = (SELECT wording FROM fact_sources WHERE fact_id = old.fact_id ORDER BY id LIMIT 1),
    search_text = (SELECT search_text FROM fact_sources WHERE fact_id = old.fact_id ORDER BY id LIMIT 1),
    reinforcements = (SELECT count(DISTINCT session_id) FROM fact_sources WHERE fact_id = old.fact_id),
    shared_at = iif((SELECT count(DISTINCT session_id) FROM fact_sources WHERE fact_id = old.fact_id) < 3, NULL,
    shared_at), last_seen = (SELECT max(at) FROM fact_sources WHERE fact_id = old.fact_id) WHERE id = old.fact_id; END;
CREATE TRIGGER facts_message_changed AFTER UPDATE OF content, audience, deleted_at ON messages WHEN new.content <>
    old.content OR new.audience <> old.audience OR new.deleted_at IS NOT old.deleted_at BEGIN
    DELETE FROM fact_sources WHERE message_id = old.id; UPDATE sessions SET ended = 0, what = '', decisions = '[]',
    files = '[]', commits = '[]', unfinished = '[]' WHERE place_id = old.place_id AND audience = old.audience AND
    end_position >= old.id AND start_position <= old.id; END;
CREATE TRIGGER facts_message_gone AFTER DELETE ON messages BEGIN DELETE FROM fact_sources WHERE message_id = old.id;
    UPDATE sessions SET ended = 0, what = '', decisions = '[]', files = '[]', commits = '[]', unfinished = '[]' WHERE
    place_id = old.place_id AND audience = old.audience AND end_position >= old.id AND start_position <= old.id; END;
CREATE TRIGGER work_states_message_changed AFTER UPDATE OF content, audience, deleted_at ON messages WHEN new.content <>
    old.content OR new.audience <> old.audience OR new.deleted_at IS NOT old.deleted_at BEGIN DELETE FROM work_states
    WHERE place_id = old.place_id AND old.id IN (SELECT value FROM json_each(work_states.messages)); END;
CREATE TRIGGER work_states_message_gone AFTER DELETE ON messages BEGIN DELETE FROM work_states WHERE place_id =
    old.place_id AND old.id IN (SELECT value FROM json_each(work_states.messages)); END;
CREATE TRIGGER archival_journal_changed AFTER UPDATE OF content, deleted_at, audience ON messages WHEN new.content <>
    old.content OR (new.deleted_at IS NOT NULL AND old.deleted_at IS NULL) OR new.audience <> old.audience BEGIN
    DELETE FROM archival_journal WHERE old.id IN (SELECT value FROM json_each(messages)); END;
CREATE TRIGGER archival_journal_gone AFTER DELETE ON messages BEGIN
    DELETE FROM archival_journal WHERE old.id IN (SELECT value FROM json_each(messages)); END;
CREATE TRIGGER dream_entry_new AFTER INSERT ON archival_entries WHEN new.parent_entry_id IS NULL AND new.archived_at IS
    NULL BEGIN INSERT INTO dream_changes (n) VALUES (new.n); END;
CREATE TRIGGER dream_entry_changed AFTER UPDATE OF content, audience, trust ON archival_entries WHEN new.parent_entry_id
    IS NULL AND (new.content <> old.content OR new.audience <> old.audience OR new.trust <> old.trust) BEGIN
    DELETE FROM dream_changes WHERE n = new.n; INSERT INTO dream_changes (n) VALUES (new.n); END;
CREATE TRIGGER dream_entry_gone AFTER DELETE ON archival_entries BEGIN DELETE FROM dream_changes WHERE n = old.n;
    DELETE FROM dream_items WHERE entry_id = old.id; UPDATE archival_entries SET superseded_by = NULL,
    archived_at = NULL WHERE superseded_by = old.id; END;
CREATE TRIGGER feedback_message_changed AFTER UPDATE OF content, audience, deleted_at ON messages WHEN new.content <>
    old.content OR new.audience <> old.audience OR new.deleted_at IS NOT old.deleted_at BEGIN
    DELETE FROM feedback WHERE message_id = old.id; END;
CREATE TRIGGER feedback_message_gone AFTER DELETE ON messages BEGIN DELETE FROM feedback WHERE message_id = old.id; END;
CREATE TRIGGER graph_entry_changed AFTER UPDATE OF content, audience, trust ON archival_entries WHEN new.content <>
    old.content OR new.audience <> old.audience OR new.trust <> old.trust BEGIN
    DELETE FROM graph_triples WHERE entry_id = old.id; END;
CREATE TRIGGER graph_entry_gone AFTER DELETE ON archival_entries BEGIN
    DELETE FROM graph_triples WHERE entry_id = old.id; END;
CREATE TRIGGER preference_card_gone AFTER DELETE ON archival_entries BEGIN UPDATE outbox SET content = '',
    status = iif(status = 'pending', 'withdrawn', status) WHERE key IN ('preference/' || old.id,
    'preference/' || old.id || '/shown'); END;
CREATE TRIGGER projects_message_changed AFTER UPDATE OF content, audience, deleted_at ON messages WHEN new.content <>
    old.content OR new.audience <> old.audience OR new.deleted_at IS NOT old.deleted_at BEGIN
    DELETE FROM project_learnings WHERE old.id IN (SELECT value FROM json_each(messages)); END;
CREATE TRIGGER projects_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM project_learnings WHERE old.id IN (SELECT value FROM json_each(messages)); END;
CREATE TRIGGER session_evaluation_changed AFTER UPDATE OF ended ON sessions WHEN new.ended = 0 AND old.ended = 1 BEGIN
    DELETE FROM session_evaluations WHERE session_id = old.id; END;
CREATE TRIGGER session_evaluation_gone AFTER DELETE ON sessions BEGIN
    DELETE FROM session_evaluations WHERE session_id = old.id; END;
CREATE TRIGGER task_fts_insert AFTER INSERT ON tasks BEGIN INSERT INTO task_fts (rowid, search_text) VALUES (new.id,
    new.search_text); END;
CREATE TRIGGER task_fts_delete AFTER DELETE ON tasks BEGIN INSERT INTO task_fts (task_fts, rowid,
    search_text) VALUES ('delete', old.id, old.search_text); END;
CREATE TRIGGER task_fts_update AFTER UPDATE OF search_text ON tasks WHEN new.search_text <> old.search_text BEGIN
    INSERT INTO task_fts (task_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
    INSERT INTO task_fts (rowid, search_text) VALUES (new.id, new.search_text); END;
CREATE TRIGGER vectors_task_new AFTER INSERT ON tasks WHEN new.search_text <> '' BEGIN INSERT INTO vector_queue (kind,
    row) VALUES ('task', new.id) ON CONFLICT DO UPDATE SET failed = 0; END;
CREATE TRIGGER vectors_task_changed AFTER UPDATE OF title, notes,
    audience ON tasks WHEN new.title <> old.title OR new.notes <> old.notes OR new.audience <> old.audience BEGIN
    DELETE FROM vectors WHERE kind = 'task' AND row = old.id; INSERT INTO vector_queue (kind, row) VALUES ('task',
    new.id) ON CONFLICT DO UPDATE SET failed = 0; END;
CREATE TRIGGER vectors_task_gone AFTER DELETE ON tasks BEGIN
    DELETE FROM vector_queue WHERE kind = 'task' AND row = old.id;
    DELETE FROM vectors WHERE kind = 'task' AND row = old.id; END;
CREATE TRIGGER expansion_gone AFTER DELETE ON archival_entries BEGIN
    DELETE FROM entry_expansions WHERE source_id = old.id OR entry_id = old.id;
    DELETE FROM jobs WHERE id = 'expand:' || old.id; END;
CREATE TRIGGER summary_fts_insert AFTER INSERT ON summary_texts BEGIN INSERT INTO summary_fts (rowid,
    search_text) VALUES (new.n, new.search_text); END;
CREATE TRIGGER summary_texts_gone AFTER DELETE ON summary_texts BEGIN INSERT INTO summary_fts (summary_fts, rowid,
    search_text) VALUES ('delete', old.n, old.search_text); UPDATE turn_uses SET kind = 'gone',
    row_id = lower(hex(randomblob(8))) WHERE kind = 'summary' AND row_id = old.id; END;
CREATE TRIGGER archive_summaries_gone AFTER DELETE ON archive_summaries BEGIN
    DELETE FROM summary_texts WHERE id = old.id; END;
CREATE TRIGGER agent_summaries_gone AFTER DELETE ON agent_summaries BEGIN
    DELETE FROM summary_texts WHERE of = 'agent' AND agent_id = old.agent_id AND audience = old.audience; END;
CREATE TRIGGER constellation_summaries_gone AFTER DELETE ON constellation_summaries BEGIN
    DELETE FROM summary_texts WHERE id = old.id; END;
CREATE TRIGGER block_queued AFTER UPDATE OF content ON memory_blocks BEGIN INSERT OR IGNORE INTO index_queue (kind,
    row) VALUES ('block', new.n); END;
CREATE TRIGGER block_unqueued AFTER DELETE ON memory_blocks BEGIN
    DELETE FROM index_queue WHERE kind = 'block' AND row = old.n; END;
CREATE TRIGGER activity_queued AFTER INSERT ON activity_events WHEN new.search_text <> '' BEGIN
    INSERT INTO index_queue (kind, row) VALUES ('event', new.id); END;
CREATE TRIGGER activity_fts_delete AFTER DELETE ON activity_events WHEN old.search_text <> '' BEGIN
    INSERT INTO activity_fts (activity_fts, rowid, search_text) SELECT 'delete', old.id,
    old.search_text WHERE NOT EXISTS (SELECT 1 FROM index_queue WHERE kind = 'event' AND row = old.id);
    DELETE FROM index_queue WHERE kind = 'event' AND row = old.id; END;
-- ---------------------------------------------------------------------------------------------------------- 0043_items
-- Messages of a place that were sent while nobody listened and that could not be read so far. What is said there live
-- moves the place's cursor on, past them; this remembers them until they are read or cannot be read for good.
-- A row that is closed stays for a while, so that somebody can be told of it.
CREATE TABLE gaps (
    place_id TEXT NOT NULL,            -- may have no row in places: nothing was ever heard there
    after TEXT NOT NULL,               -- the last message that was seen before
    before TEXT NOT NULL,              -- what is newer was heard live
    reason TEXT NOT NULL,
    tries INTEGER NOT NULL,
    noticed_at TEXT NOT NULL,
    next_try_at TEXT,                  -- empty once it is closed
    closed_at TEXT,
    PRIMARY KEY (place_id, after),
    CHECK ((next_try_at IS NULL) <> (closed_at IS NULL))
) STRICT, WITHOUT ROWID;

-- Whose words are shown in no one else's turn: who wants nothing kept, and who asks not to be shown to everybody.
CREATE TABLE unshown_people (
    person_id TEXT NOT NULL,
    why TEXT NOT NULL,                 -- "choice" or "label"
    since TEXT NOT NULL,
    PRIMARY KEY (person_id, why)
) STRICT, WITHOUT ROWID;

-- What has to follow an edit or a deletion: blocks, entries, answers and facts that hold the words that went. A row is
-- written with the redaction of the message and goes when its part is done.
CREATE TABLE follow_ups (
    id INTEGER PRIMARY KEY,
    message_id INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    person_id TEXT,
    audience TEXT NOT NULL,
    part TEXT NOT NULL CHECK (part IN ('blocks', 'words', 'facts')),
    old_text TEXT NOT NULL,
    learners TEXT NOT NULL DEFAULT '[]',
    ask TEXT NOT NULL DEFAULT '{}',
    at TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_attempt_at TEXT,
    last_error TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX follow_ups_by_message ON follow_ups (message_id);

-- A try counts when its model call or tool ran: `ran` says of the try that runs whether it came so far, `starts` how many
-- in a row did not, because the process ended before.
ALTER TABLE inbox ADD COLUMN ran INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN starts INTEGER NOT NULL DEFAULT 0;

-- One store for what agents know beside what was said. First the kinds that few things use; the others follow.

CREATE TABLE items (
    id INTEGER PRIMARY KEY,            -- snowflake
    kind TEXT NOT NULL,
    text TEXT NOT NULL DEFAULT '',     -- what it says
    key TEXT NOT NULL DEFAULT '',      -- what it is found again by within its kind
    detail TEXT NOT NULL DEFAULT '{}', -- JSON object: what else its kind keeps
    strength INTEGER NOT NULL DEFAULT 1, -- how often it was found
    agent_id TEXT,                     -- whose it is; NULL: everybody's
    person_id TEXT,                    -- who said it, or whose words it holds
    place_id TEXT,
    turn_id INTEGER,                   -- in which it was made, or which it is about
    first_position INTEGER,            -- it is made of the messages of its audience from here ...
    last_position INTEGER,             -- ... to here: of one place, in the order of that conversation; else by id
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,            -- the lowest of its sources
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,          -- when it was said last
    valid_until TEXT,                  -- from then on it is never read again
    search_text TEXT NOT NULL DEFAULT '' -- '': search does not find it
) STRICT;
CREATE INDEX items_heard ON items (kind, audience, updated_at);
CREATE INDEX items_agent ON items (agent_id, kind, id) WHERE agent_id IS NOT NULL;
CREATE INDEX items_person ON items (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX items_place ON items (place_id, kind, id) WHERE place_id IS NOT NULL;
CREATE INDEX items_until ON items (valid_until) WHERE valid_until IS NOT NULL;
CREATE INDEX items_span ON items (audience, last_position) WHERE last_position IS NOT NULL;
CREATE INDEX items_key ON items (kind, key);
CREATE INDEX items_turn ON items (turn_id) WHERE turn_id IS NOT NULL;

-- The messages whose words an item holds or is made of. It goes with any of them.
CREATE TABLE item_sources (
    item_id INTEGER NOT NULL REFERENCES items(id) ON DELETE CASCADE,
    message_id INTEGER NOT NULL,
    PRIMARY KEY (item_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX item_sources_message ON item_sources (message_id);

CREATE VIRTUAL TABLE item_fts USING fts5(search_text, content='items', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO item_fts (item_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER item_fts_insert AFTER INSERT ON items BEGIN
    INSERT INTO item_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;

-- What there is. Those that have no number of their own are given one below.
INSERT INTO items (id, kind, text, key, detail, strength, person_id, audience, trust, created_at, updated_at)
    SELECT id, kind, text, key,
        CASE kind WHEN 'project' THEN json_object('tech', tech, 'ratings', json(ratings)) ELSE '{}' END,
        times, person_id, audience, trust, created_at, updated_at FROM project_learnings;
INSERT INTO item_sources (item_id, message_id)
    SELECT DISTINCT p.id, m.value FROM project_learnings p, json_each(p.messages) m;
INSERT INTO items (id, kind, key, detail, agent_id, person_id, place_id, turn_id, audience, trust, created_at, updated_at)
    SELECT id, 'signal', kind, CASE tool WHEN '' THEN '{}' ELSE json_object('tool', tool) END,
        agent_id, person_id, place_id, turn_id, audience, trust, at, at FROM feedback;
INSERT INTO item_sources (item_id, message_id) SELECT id, message_id FROM feedback WHERE message_id IS NOT NULL;
INSERT INTO items (kind, key, detail, agent_id, audience, trust, created_at, updated_at)
    SELECT 'evaluation', CAST(session_id AS TEXT),
        json_object('quality', quality, 'worked', json(worked), 'failed', json(failed), 'by', judged_by),
        agent_id, audience, trust, at, at FROM session_evaluations ORDER BY session_id;
INSERT INTO items (kind, text, detail, agent_id, person_id, place_id, turn_id, audience, trust, created_at, updated_at)
    SELECT 'work', prompt,
        json_object('status', status, 'summary', summary, 'decisions', json(decisions),
            'next_steps', json(next_steps), 'unfinished', json(unfinished), 'files', json(files),
            'commits', json(commits), 'last_activity', last_activity),
        agent_id, person_id, place_id, turn_id, audience, trust, at, at FROM work_states ORDER BY turn_id;
INSERT INTO item_sources (item_id, message_id)
    SELECT DISTINCT i.id, m.value FROM items i JOIN work_states w
        ON i.kind = 'work' AND i.agent_id = w.agent_id AND i.place_id = w.place_id AND i.audience = w.audience,
        json_each(w.messages) m;

-- Summaries, first with the id that they had as their key.
INSERT INTO items (kind, text, key, detail, agent_id, place_id, first_position, last_position, audience, trust,
        created_at, updated_at, search_text)
    SELECT 'conversation', s.summary, s.id,
        json_object('strategy', s.strategy, 'kept', json(s.kept), 'messages', s.message_count, 'depth', s.depth,
            'previous', s.previous_id, 'model', s.model),
        s.agent_id, s.place_id, s.start_position, s.end_position, s.audience, s.trust, s.created_at, s.created_at,
        coalesce(t.search_text, '')
    FROM archive_summaries s LEFT JOIN summary_texts t ON t.id = s.id ORDER BY s.id;
INSERT INTO items (kind, text, key, detail, agent_id, first_position, last_position, audience, trust, created_at,
        updated_at, search_text)
    SELECT 'agent', s.summary, coalesce(t.id, ''),
        json_object('messages', s.messages_covered, 'model', s.model), s.agent_id, s.start_position, s.end_position,
        s.audience, s.trust, s.generated_at, s.generated_at, coalesce(t.search_text, '')
    FROM agent_summaries s
    LEFT JOIN summary_texts t ON t.of = 'agent' AND t.agent_id = s.agent_id AND t.audience = s.audience
    ORDER BY s.generated_at;
INSERT INTO items (kind, text, key, detail, first_position, last_position, audience, trust, created_at, updated_at,
        search_text)
    SELECT s.span,
        s.summary || coalesce((SELECT char(10) || group_concat(value, char(10)) FROM json_each(s.key_decisions)), '')
            || coalesce((SELECT char(10) || group_concat(value, char(10)) FROM json_each(s.open_threads)), ''),
        s.id,
        json_object('end', s.period_end, 'decisions', json(s.key_decisions), 'threads', json(s.open_threads),
            'messages', s.message_count, 'model', s.model),
        s.start_position, s.end_position, s.audience, s.trust, s.created_at, s.created_at,
        coalesce(t.search_text, '')
    FROM constellation_summaries s LEFT JOIN summary_texts t ON t.id = s.id ORDER BY s.created_at, s.id;
UPDATE items SET detail = json_set(detail, '$.previous', (SELECT CAST(p.id AS TEXT) FROM items p
        WHERE p.kind = 'conversation' AND p.key = json_extract(items.detail, '$.previous')))
    WHERE kind = 'conversation';
UPDATE turn_uses SET row_id = (SELECT CAST(i.id AS TEXT) FROM items i
        WHERE i.kind IN ('conversation', 'agent', 'day', 'week') AND i.key = turn_uses.row_id)
    WHERE kind = 'summary' AND row_id IN (SELECT id FROM summary_texts);
UPDATE items SET key = (SELECT period_start FROM constellation_summaries WHERE id = items.key)
    WHERE kind IN ('day', 'week');
UPDATE items SET key = '' WHERE kind IN ('conversation', 'agent');

-- Working memory.
INSERT INTO items (id, kind, text, key, detail, agent_id, person_id, turn_id, audience, trust, created_at, updated_at,
        valid_until)
    SELECT id, 'working', content, key, json_object('category', category, 'tags', json(tags), 'index', index_key),
        agent_id, person_id, turn_id, audience, trust, stored_at, stored_at, expires_at
    FROM working_memory;
INSERT INTO item_sources (item_id, message_id) SELECT id, message_id FROM working_memory WHERE message_id IS NOT NULL;

-- Notes of agents, first with the id that they had as their key; what the activity says of them follows.
INSERT INTO items (kind, text, key, detail, agent_id, person_id, turn_id, audience, trust, created_at, updated_at)
    SELECT 'handoff', content, id, json_object('to', coalesce(to_agent, ''), 'message', message_id), from_agent,
        person_id, turn_id, audience, trust, created_at, created_at
    FROM handoff_notes ORDER BY id;
INSERT INTO items (kind, text, key, detail, agent_id, person_id, turn_id, audience, trust, created_at, updated_at)
    SELECT 'note', description, id, json_object('to', importance, 'message', message_id),
        json_extract(agents_involved, '$[0]'), person_id, turn_id, audience, trust, at, at
    FROM notable_events ORDER BY id;
INSERT INTO item_sources (item_id, message_id)
    SELECT id, json_extract(detail, '$.message') FROM items
    WHERE kind IN ('handoff', 'note') AND json_extract(detail, '$.message') IS NOT NULL;
UPDATE activity_events SET details = json_set(details, '$.note', (SELECT CAST(i.id AS TEXT) FROM items i
        WHERE i.kind IN ('handoff', 'note') AND i.key = json_extract(activity_events.details, '$.note')))
    WHERE json_extract(details, '$.note') IN (SELECT key FROM items WHERE kind IN ('handoff', 'note'));
CREATE TABLE item_reads (
    note_id INTEGER NOT NULL REFERENCES items(id) ON DELETE CASCADE,
    audience TEXT NOT NULL,
    turn_id INTEGER NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (note_id, audience)
) STRICT, WITHOUT ROWID;
INSERT INTO item_reads (note_id, audience, turn_id, at)
    SELECT i.id, r.audience, r.turn_id, r.at FROM handoff_reads r JOIN items i ON i.kind = 'handoff' AND i.key = r.note_id;
DROP TABLE handoff_reads;
ALTER TABLE item_reads RENAME TO handoff_reads;
UPDATE items SET key = json_extract(detail, '$.to'), detail = '{}' WHERE kind IN ('handoff', 'note');

DROP TRIGGER coordination_message_changed;
DROP TRIGGER coordination_message_gone;
DROP TABLE handoff_notes;
DROP TABLE notable_events;
CREATE TRIGGER coordination_message_changed AFTER UPDATE OF deleted_at, audience ON messages
WHEN (new.deleted_at IS NOT NULL AND old.deleted_at IS NULL) OR new.audience <> old.audience BEGIN
    DELETE FROM coordination_tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM activity_events WHERE (message_id = old.id OR turn_id = old.batch_id)
        AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
END;
CREATE TRIGGER coordination_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM coordination_tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM activity_events WHERE (message_id = old.id OR turn_id = old.batch_id)
        AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
END;

DROP TRIGGER working_memory_message_changed;
DROP TRIGGER working_memory_message_gone;
DROP TABLE working_memory;
DROP TRIGGER projects_message_changed;
DROP TRIGGER projects_message_gone;
DROP TRIGGER feedback_message_changed;
DROP TRIGGER feedback_message_gone;
DROP TRIGGER work_states_message_changed;
DROP TRIGGER work_states_message_gone;
DROP TRIGGER session_evaluation_changed;
DROP TRIGGER session_evaluation_gone;
DROP TABLE project_learnings;
DROP TABLE feedback;
DROP TABLE session_evaluations;
DROP TABLE work_states;
DROP TRIGGER summaries_message_changed;
DROP TRIGGER summaries_message_gone;
DROP TABLE archive_summaries;
DROP TABLE agent_summaries;
DROP TABLE constellation_summaries;
DROP TABLE summary_fts;
DROP TABLE summary_texts;

-- An item goes from the index too, and an answer that was made from it keeps only that there was one.
CREATE TRIGGER items_gone AFTER DELETE ON items BEGIN
    INSERT INTO item_fts (item_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
    UPDATE turn_uses SET kind = 'gone', row_id = lower(hex(randomblob(8)))
        WHERE kind = 'summary' AND row_id = CAST(old.id AS TEXT);
END;

-- Words that are changed, taken back, or kept to fewer people take along what was made of them.
CREATE TRIGGER items_message_changed AFTER UPDATE OF content, audience, deleted_at ON messages
WHEN new.content <> old.content OR new.audience <> old.audience OR new.deleted_at IS NOT old.deleted_at BEGIN
    DELETE FROM items WHERE kind NOT IN ('working', 'handoff', 'note') AND id IN (SELECT item_id FROM item_sources WHERE message_id = old.id);
    DELETE FROM items WHERE audience = old.audience AND last_position >= old.id
        AND (place_id IS NULL OR place_id = old.place_id)
        AND iif(place_id IS NULL, old.id, coalesce(old.batch_id, old.id)) BETWEEN first_position AND last_position;
END;
-- What an agent keeps for a while, and its notes to others, are of a whole turn: they stay when a
-- message is edited, and go with any that goes.
CREATE TRIGGER items_turn_changed AFTER UPDATE OF audience, deleted_at ON messages
WHEN new.audience <> old.audience OR (new.deleted_at IS NOT NULL AND old.deleted_at IS NULL) BEGIN
    DELETE FROM items WHERE kind IN ('working', 'handoff', 'note') AND turn_id = old.batch_id;
    DELETE FROM items WHERE id IN (SELECT item_id FROM item_sources WHERE message_id = old.id);
END;
CREATE TRIGGER items_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM items WHERE id IN (SELECT item_id FROM item_sources WHERE message_id = old.id);
    DELETE FROM items WHERE kind IN ('working', 'handoff', 'note') AND turn_id = old.batch_id;
    DELETE FROM items WHERE audience = old.audience AND last_position >= old.id
        AND (place_id IS NULL OR place_id = old.place_id)
        AND iif(place_id IS NULL, old.id, coalesce(old.batch_id, old.id)) BETWEEN first_position AND last_position;
END;
-- A talk whose words change is judged anew, and one that is forgotten takes the judgement along.
CREATE TRIGGER items_session_changed AFTER UPDATE OF ended ON sessions WHEN new.ended = 0 AND old.ended = 1 BEGIN
    DELETE FROM items WHERE kind = 'evaluation' AND key = CAST(old.id AS TEXT);
END;
CREATE TRIGGER items_session_gone AFTER DELETE ON sessions BEGIN
    DELETE FROM items WHERE kind = 'evaluation' AND key = CAST(old.id AS TEXT);
END;
-- -------------------------------------------------------------------------------------------------------- 0044_imports
-- What became of each record of a file that was imported, so that a person can read it and a second run adds nothing.
CREATE TABLE import_audit (
    id INTEGER PRIMARY KEY,            -- snowflake
    source TEXT NOT NULL,              -- 'car', 'v1', 'letta', 'chatgpt', 'discord', 'markdown'
    origin TEXT NOT NULL,              -- of which file: the CID of its root, or its digest
    record TEXT NOT NULL,              -- which record of it: a table, or the id that it has there
    outcome TEXT NOT NULL CHECK (outcome IN ('carried', 'changed', 'refused')),
    reason TEXT NOT NULL DEFAULT '',   -- words of ours
    became TEXT NOT NULL DEFAULT '',   -- the row that it became: 'messages 123'
    audience TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX import_audit_record ON import_audit (source, record);
CREATE INDEX import_audit_origin ON import_audit (origin);
-- --------------------------------------------------------------------------------------------------- 0045_data_sources
-- What agents are told of that nobody says to them: feeds, calendars, folders. A job looks at each (`source:<id>`).
CREATE TABLE data_sources (
    id TEXT PRIMARY KEY,
    name TEXT UNIQUE NOT NULL COLLATE NOCASE,
    source_type TEXT NOT NULL CHECK (source_type IN ('feed', 'calendar', 'folder')),
    address TEXT NOT NULL,             -- a URL, or a folder with its links resolved
    every_minutes INTEGER NOT NULL,
    enabled INTEGER NOT NULL DEFAULT 1,
    last_sync_at TEXT,                 -- when it was last read whole; NULL: what it has at first is not news
    failures INTEGER NOT NULL DEFAULT 0, -- in a row
    last_error TEXT NOT NULL DEFAULT '',
    audience TEXT NOT NULL,            -- who may hear what it says
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

-- Where each source stands: what was seen, and how it looked.
CREATE TABLE data_source_items (
    source_id TEXT NOT NULL REFERENCES data_sources(id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    mark TEXT NOT NULL,
    seen_at TEXT NOT NULL,
    PRIMARY KEY (source_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE agent_data_sources (
    agent_id TEXT NOT NULL REFERENCES agents(id),
    source_id TEXT NOT NULL REFERENCES data_sources(id) ON DELETE CASCADE,
    notification_template TEXT NOT NULL DEFAULT '', -- '': the usual one
    created_at TEXT NOT NULL,
    PRIMARY KEY (agent_id, source_id)
) STRICT, WITHOUT ROWID;
-- -------------------------------------------------------------------------------------------------- 0046_small_vectors
-- Vectors are bytes now and no longer floats: all are made anew, in the background.
DELETE FROM vectors;
DELETE FROM vector_models;
-- ------------------------------------------------------------------------------------------------- 0047_direct_indexes
-- Words of blocks and of events are indexed by the commit that brings them; what still waited is indexed here.
INSERT INTO activity_fts (rowid, search_text)
    SELECT id, search_text FROM activity_events WHERE id IN (SELECT row FROM index_queue WHERE kind = 'event');
UPDATE memory_blocks SET search_text = carina_index_text(label || ' ' || description || ' ' || content)
    WHERE deleted_at IS NULL AND n IN (SELECT row FROM index_queue WHERE kind = 'block');

DROP TRIGGER block_queued;
DROP TRIGGER block_unqueued;
DROP TRIGGER activity_queued;
DROP TRIGGER activity_fts_delete;
DROP TABLE index_queue;

CREATE TRIGGER activity_fts_insert AFTER INSERT ON activity_events WHEN new.search_text <> '' BEGIN
    INSERT INTO activity_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;

CREATE TRIGGER activity_fts_delete AFTER DELETE ON activity_events WHEN old.search_text <> '' BEGIN
    INSERT INTO activity_fts (activity_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
END;
-- ----------------------------------------------------------------------------------------------------------- 0048_said
-- What people said, by person: who talked to the agents is counted from the index alone.
CREATE INDEX messages_said ON messages (person_id, created_at, audience) WHERE role = 'user' AND deleted_at IS NULL;
-- ---------------------------------------------------------------------------------------------------------- 0049_tasks
-- One store for tasks: those on a person's list, and those that agents share. Every task has a state, may wait for
-- others, be a step of another one, and have fields of its own.

CREATE TABLE new_tasks (
    id INTEGER PRIMARY KEY,            -- snowflake
    title TEXT NOT NULL,
    notes TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'in_progress', 'done', 'cancelled')),
    priority TEXT NOT NULL DEFAULT 'medium' CHECK (priority IN ('low', 'medium', 'high', 'urgent')),
    parent_id INTEGER REFERENCES new_tasks(id) ON DELETE SET NULL,
    needs TEXT NOT NULL DEFAULT '[]',  -- JSON array: ids of tasks that have to be done before
    shared INTEGER NOT NULL DEFAULT 0, -- 1: agents share it; 0: it is on the list of its person
    assignee_id TEXT,                  -- of a shared one: an agent; NULL: anyone
    agent_id TEXT REFERENCES agents(id),  -- who wrote it down; NULL: a person, by command
    person_id TEXT,                    -- whose it is; of a shared one, whose turn it is from
    turn_id INTEGER,                   -- of a shared one: in which it was written; it goes with its messages
    message_id INTEGER,
    audience TEXT NOT NULL,
    trust INTEGER NOT NULL,
    due_at TEXT,
    done_at TEXT,
    fields TEXT NOT NULL DEFAULT '{}', -- JSON object: names of somebody's own, with their values
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    search_text TEXT NOT NULL DEFAULT ''
) STRICT;

INSERT INTO new_tasks (id, title, notes, status, priority, parent_id, agent_id, person_id, audience, trust, due_at,
        done_at, created_at, updated_at, search_text)
    SELECT id, title, notes, replace(replace(status, 'pending', 'open'), 'completed', 'done'), priority, parent_id,
        agent_id, person_id, audience, trust, due_at, done_at, created_at, updated_at, search_text FROM tasks;
DROP TABLE tasks;
ALTER TABLE new_tasks RENAME TO tasks;
CREATE INDEX tasks_open ON tasks (status, id);
CREATE INDEX tasks_person ON tasks (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX tasks_parent ON tasks (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX tasks_turn ON tasks (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX tasks_message ON tasks (message_id) WHERE message_id IS NOT NULL;

CREATE TRIGGER task_fts_insert AFTER INSERT ON tasks BEGIN
    INSERT INTO task_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;
CREATE TRIGGER task_fts_delete AFTER DELETE ON tasks BEGIN
    INSERT INTO task_fts (task_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
END;
CREATE TRIGGER task_fts_update AFTER UPDATE OF search_text ON tasks WHEN new.search_text <> old.search_text BEGIN
    INSERT INTO task_fts (task_fts, rowid, search_text) VALUES ('delete', old.id, old.search_text);
    INSERT INTO task_fts (rowid, search_text) VALUES (new.id, new.search_text);
END;
CREATE TRIGGER vectors_task_new AFTER INSERT ON tasks WHEN new.search_text <> '' BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('task', new.id) ON CONFLICT DO UPDATE SET failed = 0;
END;
CREATE TRIGGER vectors_task_changed AFTER UPDATE OF title, notes, audience ON tasks
WHEN new.title <> old.title OR new.notes <> old.notes OR new.audience <> old.audience BEGIN
    DELETE FROM vectors WHERE kind = 'task' AND row = old.id;
    INSERT INTO vector_queue (kind, row) VALUES ('task', new.id) ON CONFLICT DO UPDATE SET failed = 0;
END;
CREATE TRIGGER vectors_task_gone AFTER DELETE ON tasks BEGIN
    DELETE FROM vector_queue WHERE kind = 'task' AND row = old.id;
    DELETE FROM vectors WHERE kind = 'task' AND row = old.id;
END;

-- Tasks of agents, first with the id that they had in the place of their notes; the activity names the new one, which is
-- made of the time like others, as of a process that there is not.
INSERT INTO tasks (id, title, notes, status, priority, shared, assignee_id, agent_id, person_id, turn_id, message_id,
        audience, trust, done_at, created_at, updated_at, search_text)
    SELECT (max(unixepoch(created_at) * 1000 - 1735689600000, 0) << 22) + (1023 << 12) + row_number() OVER (ORDER BY id),
        description, id, replace(replace(status, 'pending', 'open'), 'completed', 'done'),
        replace(priority, 'critical', 'urgent'), 1, assigned_to, (SELECT id FROM agents WHERE id = assigned_by),
        person_id, turn_id, message_id, audience, trust, iif(status IN ('completed', 'cancelled'), updated_at, NULL),
        created_at, updated_at, carina_index_text(description)
    FROM coordination_tasks ORDER BY id;
UPDATE activity_events SET details = json_set(details, '$.task', (SELECT CAST(t.id AS TEXT) FROM tasks t
        WHERE t.shared AND t.notes = json_extract(activity_events.details, '$.task')))
    WHERE json_extract(details, '$.task') IN (SELECT notes FROM tasks WHERE shared);
UPDATE tasks SET notes = '' WHERE shared;
UPDATE tasks SET title = substr(title, 1, 299) || '…', notes = '…' || substr(title, 300)
    WHERE shared AND length(title) > 300;
UPDATE tasks SET title = replace(title, char(10), ' ') WHERE shared;

DROP TRIGGER coordination_message_changed;
DROP TRIGGER coordination_message_gone;
DROP TABLE coordination_tasks;
CREATE TRIGGER coordination_message_changed AFTER UPDATE OF deleted_at, audience ON messages
WHEN (new.deleted_at IS NOT NULL AND old.deleted_at IS NULL) OR new.audience <> old.audience BEGIN
    DELETE FROM tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM activity_events WHERE (message_id = old.id OR turn_id = old.batch_id)
        AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
END;
CREATE TRIGGER coordination_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM activity_events WHERE (message_id = old.id OR turn_id = old.batch_id)
        AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
END;
-- ------------------------------------------------------------------------------------------------- 0050_words_of_tasks
-- What the activity says of a shared task, such as what it was before a change, goes with the task; and a task that got
-- its words from a message goes with that, whoever wrote it down first.
CREATE INDEX activity_task ON activity_events (json_extract(details, '$.task'))
    WHERE json_extract(details, '$.task') IS NOT NULL;
CREATE TRIGGER task_gone AFTER DELETE ON tasks WHEN old.shared BEGIN
    DELETE FROM activity_events WHERE json_extract(details, '$.task') = '' || old.id;
END;

DROP TRIGGER coordination_message_changed;
DROP TRIGGER coordination_message_gone;
CREATE TRIGGER coordination_message_changed AFTER UPDATE OF deleted_at, audience ON messages
WHEN (new.deleted_at IS NOT NULL AND old.deleted_at IS NULL) OR new.audience <> old.audience BEGIN
    DELETE FROM tasks WHERE shared AND id IN (SELECT CAST(json_extract(e.details, '$.task') AS INTEGER)
        FROM activity_events e WHERE (e.message_id = old.id OR e.turn_id = old.batch_id) AND e.event_type = 'notable'
        AND EXISTS (SELECT 1 FROM json_tree(e.details, '$.before') WHERE key IN ('title', 'notes', 'fields')));
    DELETE FROM tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM activity_events WHERE (message_id = old.id OR turn_id = old.batch_id)
        AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
END;
CREATE TRIGGER coordination_message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM tasks WHERE shared AND id IN (SELECT CAST(json_extract(e.details, '$.task') AS INTEGER)
        FROM activity_events e WHERE (e.message_id = old.id OR e.turn_id = old.batch_id) AND e.event_type = 'notable'
        AND EXISTS (SELECT 1 FROM json_tree(e.details, '$.before') WHERE key IN ('title', 'notes', 'fields')));
    DELETE FROM tasks WHERE message_id = old.id OR turn_id = old.batch_id;
    DELETE FROM activity_events WHERE (message_id = old.id OR turn_id = old.batch_id)
        AND event_type IN ('task_assigned', 'handoff_initiated', 'notable');
END;
-- ---------------------------------------------------------------------------------------------------- 0051_seldom_rows
-- What failed is found without reading all that arrived, and what models cost is added up from the index alone.
CREATE INDEX inbox_dead ON inbox (person_id) WHERE status = 'dead';
DROP INDEX model_usage_at;
CREATE INDEX model_usage_at ON model_usage (at, agent_id, model, input_tokens, output_tokens, cost_usd);
-- ------------------------------------------------------------------------------------------------- 0052_found_messages
-- A word is looked up among all messages that have it without reading them.
CREATE INDEX messages_found ON messages (id, audience, length(search_text))
WHERE deleted_at IS NULL AND search_text <> '';
-- -------------------------------------------------------------------------------------------------- 0053_cached_tokens
-- What models cost is added up from the index alone, also by purpose and with what providers had already.
DROP INDEX model_usage_at;
CREATE INDEX model_usage_at ON model_usage
    (at, agent_id, model, input_tokens, output_tokens, cost_usd, cache_read_tokens, turn_id, person_id);
-- -------------------------------------------------------------------------------------- 0054_person_and_place_settings
-- Models are chosen for places, and languages by people.
CREATE TABLE new_steering (
    kind TEXT NOT NULL CHECK (kind IN ('mode', 'group', 'model', 'pause', 'language')),
    subject TEXT NOT NULL,             -- mode: 'discord:<channel, category or guild>'; group, model: a binding;
                                       -- pause: a source; language: a person id
    value TEXT NOT NULL,               -- the mode; the group's id; the model; nothing; the language
    decided_by TEXT NOT NULL,          -- person id
    decided_at TEXT NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;
INSERT INTO new_steering SELECT * FROM steering;
DROP TABLE steering;
ALTER TABLE new_steering RENAME TO steering;

-- By which names settings concern a place, the narrowest first: JSON array. Empty for direct messages.
ALTER TABLE places ADD COLUMN bindings TEXT NOT NULL DEFAULT '[]';

-- Where reminders arrive: 'here', where they were set; 'privately'; '' where nothing was said.
ALTER TABLE person_times ADD COLUMN reminders TEXT NOT NULL DEFAULT '';
-- ---------------------------------------------------------------------------------------------- 0055_models_of_folders
-- A folder may have an embedding model of its own: '' is that of the constellation, 'none' stands for words alone.
ALTER TABLE folders ADD COLUMN embedding_model TEXT NOT NULL DEFAULT '';

DROP TRIGGER vectors_passage_new;
CREATE TRIGGER vectors_passage_new AFTER INSERT ON file_passages
WHEN new.search_text <> '' AND (SELECT embedding_model FROM folders WHERE id = new.folder_id) IS NOT 'none' BEGIN
    INSERT INTO vector_queue (kind, row) VALUES ('passage', new.n) ON CONFLICT DO UPDATE SET failed = 0;
END;

DROP TRIGGER vectors_passage_changed;
CREATE TRIGGER vectors_passage_changed AFTER UPDATE OF audience ON file_passages WHEN new.audience <> old.audience BEGIN
    DELETE FROM vectors WHERE kind = 'passage' AND row = old.n;
    INSERT INTO vector_queue (kind, row)
    SELECT 'passage', new.n FROM folders WHERE id = new.folder_id AND embedding_model <> 'none'
    ON CONFLICT DO UPDATE SET failed = 0;
END;

CREATE TRIGGER vectors_folder_changed AFTER UPDATE OF embedding_model ON folders
WHEN new.embedding_model <> old.embedding_model BEGIN
    DELETE FROM vector_queue WHERE kind = 'passage' AND row IN (SELECT n FROM file_passages WHERE folder_id = new.id);
    DELETE FROM vectors WHERE kind = 'passage' AND row IN (SELECT n FROM file_passages WHERE folder_id = new.id);
    INSERT INTO vector_queue (kind, row) SELECT 'passage', n FROM file_passages
    WHERE folder_id = new.id AND search_text <> '' AND new.embedding_model <> 'none';
END;
-- --------------------------------------------------------------------------------------- 0056_living_entries_and_costs
-- Every search asks how many entries can be found, and the page of costs adds up by day.
CREATE INDEX archival_living ON archival_entries (agent_id, audience)
WHERE archived_at IS NULL AND superseded_by IS NULL;
DROP INDEX model_usage_at;
CREATE INDEX model_usage_at ON model_usage (at, agent_id, model, input_tokens, output_tokens, cost_usd);
CREATE INDEX model_usage_days ON model_usage
    (substr(at, 1, 10), agent_id, model, turn_id IS NULL, person_id IS NULL, input_tokens, output_tokens, cost_usd, cache_read_tokens, at);
-- -------------------------------------------------------------------------------------------------- 0057_message_files
-- Files that came with a message over HTTP, or only their names where they were not taken. Who may read the message may
-- have them, and they go when its words go.
CREATE TABLE message_files (
    message_id INTEGER NOT NULL REFERENCES messages(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    skipped TEXT NOT NULL,
    content BLOB NOT NULL,
    audience TEXT NOT NULL,
    PRIMARY KEY (message_id, position)
) STRICT;
CREATE TRIGGER message_files_narrowed AFTER UPDATE OF audience ON messages WHEN new.audience <> old.audience BEGIN
    UPDATE message_files SET audience = new.audience WHERE message_id = new.id;
END;
CREATE TRIGGER message_files_gone AFTER UPDATE OF deleted_at ON messages WHEN new.deleted_at IS NOT NULL BEGIN
    DELETE FROM message_files WHERE message_id = new.id;
END;
-- ------------------------------------------------------------------------------------------------------- 0058_webhooks
-- Webhooks are sources, too. Nothing asks them on schedule.
CREATE TABLE new_data_sources (
    id TEXT PRIMARY KEY,
    name TEXT UNIQUE NOT NULL COLLATE NOCASE,
    source_type TEXT NOT NULL CHECK (source_type IN ('feed', 'calendar', 'folder', 'webhook')),
    address TEXT NOT NULL,             -- a URL; a folder with its links resolved; the secret of a webhook's signatures,
                                       -- '' for one of carina.toml, whose secret is in the environment
    every_minutes INTEGER NOT NULL,    -- 0 for webhooks
    enabled INTEGER NOT NULL DEFAULT 1,
    last_sync_at TEXT,                 -- when it was last read whole; NULL: what it has at first is not news
    failures INTEGER NOT NULL DEFAULT 0, -- in a row
    last_error TEXT NOT NULL DEFAULT '',
    audience TEXT NOT NULL,            -- who may hear what it says
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;
INSERT INTO new_data_sources SELECT * FROM data_sources;

-- Dropping a table deletes its rows, and theirs with them.
CREATE TEMP TABLE kept_items AS SELECT * FROM data_source_items;
CREATE TEMP TABLE kept_agents AS SELECT * FROM agent_data_sources;
DROP TABLE data_sources;
ALTER TABLE new_data_sources RENAME TO data_sources;
INSERT INTO data_source_items SELECT * FROM kept_items;
INSERT INTO agent_data_sources SELECT * FROM kept_agents;
DROP TABLE kept_items;
DROP TABLE kept_agents;
-- ------------------------------------------------------------------------------------------------ 0059_jobs_of_sources
-- The checks of a source are named like it, so that people can tell them apart.
UPDATE jobs SET id = 'source:' || (SELECT name FROM data_sources s WHERE jobs.id = 'source:' || s.id)
WHERE EXISTS (SELECT 1 FROM data_sources s WHERE jobs.id = 'source:' || s.id);
-- ------------------------------------------------------------------------------------------------- 0060_steps_of_turns
-- The messages that a turn began with, each with its revision: most turns need no step for them.
ALTER TABLE turns ADD COLUMN heard TEXT NOT NULL DEFAULT '[]';

-- A turn that is over keeps no steps.
CREATE TRIGGER turns_drop_steps AFTER UPDATE OF status ON turns WHEN new.status NOT IN ('running', 'suspended') BEGIN
    DELETE FROM turn_steps WHERE turn_id = new.id;
END;
-- --------------------------------------------------------------------------------------------------- 0061_named_blocks
-- Who gave a block its name and description, and in which turn: they are that writer's words. '' where it is not known.
ALTER TABLE memory_blocks ADD COLUMN named_by TEXT NOT NULL DEFAULT '';
ALTER TABLE memory_blocks ADD COLUMN named_turn INTEGER;

-- A note that a person created a block has no id of the block; it follows the block within moments.
UPDATE memory_blocks SET named_by = coalesce((
    SELECT 'person:' || e.person_id FROM activity_events e
    WHERE e.event_type = 'memory_block_updated' AND e.agent_id IS NULL AND e.audience = memory_blocks.audience
      AND json_extract(e.details, '$.change') = 'created'
      AND julianday(e.at) - julianday(memory_blocks.created_at) BETWEEN 0 AND 0.0001
    ORDER BY e.id LIMIT 1), '');

UPDATE memory_blocks SET named_by = 'agent:' || agent_id, named_turn = (
    SELECT e.turn_id FROM activity_events e
    WHERE e.event_type = 'memory_block_updated' AND json_extract(e.details, '$.block') = memory_blocks.id
      AND json_extract(e.details, '$.change') = 'create'
    ORDER BY e.id LIMIT 1)
WHERE named_by = '';
UPDATE memory_blocks SET named_by = '' WHERE named_by LIKE 'agent:%' AND named_turn IS NULL;
-- ------------------------------------------------------------------------------------------------- 0062_names_of_votes
-- The name of the account that voted, as it was then: a restart does not know it otherwise.
ALTER TABLE permission_votes ADD COLUMN name TEXT NOT NULL DEFAULT '';
-- ----------------------------------------------------------------------------------------------- 0063_described_blocks
-- Who wrote a block's description, and in which turn: it may be somebody else than who gave it its name.
ALTER TABLE memory_blocks ADD COLUMN described_by TEXT NOT NULL DEFAULT '';
ALTER TABLE memory_blocks ADD COLUMN described_turn INTEGER;

UPDATE memory_blocks SET described_by = named_by, described_turn = named_turn;
