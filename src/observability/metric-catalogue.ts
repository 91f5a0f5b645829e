/**
 * Every metric of a node as data: its help text, its label bounds and its buckets (O1). A metric without labels is only
 * its help text. docs/metrics.md is generated from it.
 *
 * Names without the prefix `cairn_` are the usual ones of gRPC and HTTP dashboards. Counters end in `_total`, durations
 * are in seconds, sizes in bytes.
 */
export const COUNTERS = {
  grpc_server_started_total: {
    help: 'RPCs started on the server.',
    labels: { grpc_type: ['unary', 'server_stream', 'bidi_stream'], grpc_service: 8, grpc_method: 64 },
  },
  grpc_server_handled_total: {
    help: 'RPCs completed on the server, by status code.',
    labels: { grpc_type: ['unary', 'server_stream', 'bidi_stream'], grpc_service: 8, grpc_method: 64, grpc_code: 20 },
  },
  grpc_server_msg_received_total: {
    help: 'Messages received by the server.',
    labels: { grpc_type: ['unary', 'server_stream', 'bidi_stream'], grpc_service: 8, grpc_method: 64 },
  },
  grpc_server_msg_sent_total: {
    help: 'Messages sent by the server.',
    labels: { grpc_type: ['unary', 'server_stream', 'bidi_stream'], grpc_service: 8, grpc_method: 64 },
  },
  cairn_redirects_total: {
    help: 'Redirects to a concrete revision or time.',
    labels: { reason: ['latest', 'cached', 'effective_time'] },
  },
  cairn_connections_closed_total:
    'Connections closed when they were accepted, to keep file descriptors free for log and store, metrics, peers and the other port.',
  cairn_connections_displaced_total: {
    help: 'Connections closed to accept another one when the maximum number was open, by what they waited for. idle: another request; head: the headers of their first one, or nothing yet; body: the rest of a request.',
    labels: { protocol: ['grpc', 'http', 'mcp'], waiting: ['idle', 'head', 'body'] },
  },
  cairn_rejected_total: {
    help: 'Requests refused before they were processed. malformed: by gRPC headers or frames, or bytes that are not HTTP.',
    labels: { reason: ['overload', 'draining', 'too_large', 'disk_full', 'malformed'] },
  },
  cairn_unauthenticated_total:
    'Requests with an invalid credential: forged, expired, revoked or sent twice. Requests without a credential are not counted.',
  cairn_rate_limited_total: {
    help: 'Requests refused because their client exceeded --rate-limit-per-second and --rate-limit-burst. shared: too many clients were over their rate for each to have its own count.',
    labels: { protocol: ['grpc', 'http', 'mcp'], by: ['principal', 'address', 'shared'] },
  },
  cairn_tls_handshakes_failed_total:
    'Connections that ended before their TLS handshake was complete: no TLS, an unsupported version, no valid certificate, or too slow.',
  cairn_tls_reloads_total: {
    help: 'Changes found in the TLS files. loaded: the new files are used; failed: they are invalid, and the previous ones stay in use.',
    labels: { result: ['loaded', 'failed'] },
  },
  cairn_peer_tls_reloads_total: {
    help: 'Changes found in the TLS files for peers. loaded: the new files are used; failed: they are invalid, and the previous ones stay in use.',
    labels: { result: ['loaded', 'failed'] },
  },
  cairn_identity_keys_reads_total: {
    help: 'Attempts to fetch signing keys of identity providers. failed: no answer in time, or an answer without valid keys.',
    labels: { result: ['read', 'failed'] },
  },
  cairn_grpc_connections_ended_total: {
    help: 'Connections of gRPC clients that were ended because of what the clients sent. flood: far too many new calls in one turn of the event loop; frames: far more frames than their requests need; headers: a request with far too many headers; pieces: requests in far too many small pieces.',
    labels: { reason: ['flood', 'frames', 'headers', 'pieces'] },
  },
  cairn_relayed_requests_total: {
    help: 'Requests relayed to other nodes: for databases without a replica on this node, and for MCP sessions of another node.',
    labels: { protocol: ['grpc', 'http', 'mcp'], result: ['answered', 'broken', 'unreached', 'lost', 'abandoned'] },
  },
  cairn_mcp_requests_total: {
    help: 'MCP messages, counted on the node that has their session. For the duration of tools see that of the HTTP requests that they make.',
    labels: {
      method: [
        'initialize',
        'notifications/initialized',
        'notifications/cancelled',
        'ping',
        'server/discover',
        'tools/list',
        'tools/call',
        'resources/list',
        'resources/templates/list',
        'resources/read',
        'other',
      ],
    },
  },
  cairn_mcp_sessions_begun_total: 'MCP sessions started on this node.',
  cairn_mcp_sessions_ended_total: {
    help: 'MCP sessions that ended on this node. deleted: by their client; idle: for too long; displaced: evicted for a new session; closing: the node was closing.',
    labels: { reason: ['deleted', 'idle', 'displaced', 'closing'] },
  },
  cairn_trace_spans_ended_total:
    'Trace spans that ended on this node. Those that were not exported are lost or wait for up to a second.',
  cairn_trace_spans_exported_total: 'Trace spans that the collector of `otlp-endpoint` accepted.',
  cairn_raft_election_total: {
    help: 'Elections in which this node was a candidate or a pre-candidate. won: it became leader; lost: most nodes voted for another one, or another node leads; timed_out: too few votes; not_held: the pre-vote failed, so no term was used.',
    labels: { result: ['won', 'lost', 'timed_out', 'not_held'] },
  },
  cairn_raft_heartbeat_send_failures_total:
    'Frames with heartbeats, replies, votes or read indexes that were refused or lost. A frame has messages of many groups.',
  cairn_raft_leader_changes_total: 'Leader changes of groups on this node.',
  cairn_raft_proposals_committed_total: 'Log entries committed.',
  cairn_raft_proposals_applied_total: 'Log entries applied.',
  cairn_raft_proposals_failed_total: 'Proposals that were refused, or whose outcome is unknown.',
  cairn_raft_snapshot_bytes_total: {
    help: 'Snapshot bytes sent to members that lack them, and received from leaders.',
    labels: { peer: 64, way: ['sent', 'received'] },
  },
  cairn_raft_snapshot_failures_total: {
    help: 'Snapshot transfers that were not completed.',
    labels: { way: ['sent', 'received'] },
  },
  cairn_wal_write_bytes_total: 'Bytes written to the write-ahead log.',
  cairn_archive_bytes_total: 'Bytes of objects that this node has stored in the archive.',
  cairn_archive_failures_total:
    'Attempts to archive a database that failed. They are repeated after 1 to 60 s; see archive-failing in the log.',
  cairn_store_scrub_bytes_total: 'Bytes of rows and sealed segments that the scrub has read and verified.',
  cairn_store_compaction_seconds_total: {
    help: 'Time of LevelDB compactions into a level, as LevelDB reports it, in whole seconds. It is read every 10 s.',
    labels: { level: ['0', '1', '2', '3', '4', '5', '6'] },
  },
  cairn_store_compaction_read_bytes_total: {
    help: 'Bytes read by LevelDB compactions into a level, as LevelDB reports them: in whole MiB.',
    labels: { level: ['0', '1', '2', '3', '4', '5', '6'] },
  },
  cairn_store_compaction_written_bytes_total: {
    help: 'Bytes written by LevelDB compactions into a level, and by flushes of the write buffer; in whole MiB.',
    labels: { level: ['0', '1', '2', '3', '4', '5', '6'] },
  },
  cairn_transactions_total: {
    help: 'Transactions by origin and result.',
    labels: {
      origin: ['http', 'grpc'],
      result: ['committed', 'replayed', 'conflict', 'invalid', 'too_large', 'failed'],
    },
  },
  cairn_constraint_checks_total: {
    help: 'Constraints decided, by kind and result.',
    labels: { kind: ['min_revision', 'max_revision', 'revision_range'], result: ['held', 'violated'] },
  },
  cairn_query_events_returned_total: 'Events returned by reads.',
  cairn_cpu_throttled_seconds_total: 'Time in which the CPU limit of the container kept the node from running.',
  cairn_peer_sent_bytes_total: { help: 'Bytes of frames sent to another node.', labels: { peer: 64 } },
  cairn_peer_received_bytes_total: { help: 'Bytes of frames received from another node.', labels: { peer: 64 } },
  cairn_peer_sent_failures_total: {
    help: 'Frames for another node that were refused (no connection, or its queue is full) or lost with their connection.',
    labels: { peer: 64 },
  },
  cairn_peer_received_failures_total: {
    help: 'Streams and frames of another node that were refused; cairn_peer_dropped_frames_total has the reasons.',
    labels: { peer: 64 },
  },
  cairn_peer_reading_stopped_total:
    'Times that this node stopped reading appends from another node, because its log or its state lagged by a quarter of replication-memory-bytes.',
  cairn_peer_dropped_frames_total: {
    help: 'Dropped frames and refused streams of other nodes. malformed: damaged, or not a frame; cluster: from another cluster; receiver: addressed to another node or store; sender: from another store than the catalog lists, or from another node than opened the stream; duplicate: a second process runs with a copy of the data directory of the sender; lane: content of another lane; stranger: the sender is not in the catalog, and the content is not about the catalog; removed: the sender was removed; crowded: too many open streams; closing: this node is shutting down; handshake: no TLS, no valid certificate, another secret, too slow, or TLS where this node uses none.',
    labels: {
      reason: [
        'malformed',
        'cluster',
        'receiver',
        'sender',
        'duplicate',
        'lane',
        'stranger',
        'removed',
        'crowded',
        'closing',
        'handshake',
      ],
    },
  },
  cairn_guest_calls_total: { help: 'Calls of components.', labels: { pool: ['views', 'changes', 'presenters'] } },
  cairn_guest_faults_total: {
    help: 'Failed calls of components, by fault (docs/components.md).',
    labels: {
      pool: ['views', 'changes', 'presenters'],
      code: [
        'Trap',
        'StackOverflow',
        'FuelExhausted',
        'MemoryLimit',
        'OutputTooLarge',
        'AbiViolation',
        'Denied',
        'HostCallLimit',
        'HostCallFailed',
        'NotInstantiable',
        'DeadlineExceeded',
        'ExecutorLost',
        'Quarantined',
        'Busy',
        'Cancelled',
      ],
    },
  },
  cairn_guest_fuel_total: {
    help: 'Units of fuel that components have spent.',
    labels: { pool: ['views', 'changes', 'presenters'] },
  },
  cairn_guest_host_calls_total: {
    help: 'Host calls: requests of components to the node.',
    labels: { pool: ['views', 'changes', 'presenters'] },
  },
  cairn_guest_processes_started_total: {
    help: 'Guest processes started to run components.',
    labels: { pool: ['views', 'changes', 'presenters'] },
  },
  cairn_guest_processes_killed_total: {
    help: 'Guest processes that were killed, or ended, during a call.',
    labels: { pool: ['views', 'changes', 'presenters'] },
  },
  cairn_guest_processes_recycled_total: {
    help: 'Guest processes replaced because they used too much memory.',
    labels: { pool: ['views', 'changes', 'presenters'] },
  },
  cairn_guest_cache_damaged_total: {
    help: 'Cached files whose content was damaged.',
    labels: { kind: ['artifacts', 'states'] },
  },
  cairn_guest_cache_refused_total: {
    help: 'Files that were not cached, because the disk refused them or was almost full.',
    labels: { kind: ['artifacts', 'states'] },
  },
  cairn_stateview_events_folded_total: {
    help: 'Events folded by State Views. reads: a read waited for the fold; maintenance: folded in the background.',
    labels: { by: ['reads', 'maintenance'] },
  },
  cairn_stateview_maintenance_steps_total: {
    help: 'Maintenance steps of State Views. restarted: folded again from the first event, because the stored state was lost or an event arrived late; failed: the component failed, or its state could not be stored.',
    labels: { result: ['advanced', 'restarted', 'failed'] },
  },
} as const;

export const GAUGES = {
  cairn_inflight_requests: { help: 'Requests in progress.', labels: { plane: ['grpc', 'http'] } },
  cairn_request_memory_bytes: 'Memory of requests that arrive or are processed, and of open gRPC streams.',
  cairn_unsent_memory_bytes: 'Bytes of responses that clients have not read yet.',
  cairn_raft_groups: 'Groups with an open replica on this node.',
  cairn_raft_has_leader: 'Groups on this node that have a leader.',
  cairn_raft_is_leader: 'Groups that this node leads.',
  cairn_raft_term: 'Highest term that a group on this node has been in.',
  cairn_raft_last_index: 'Last log index, summed over the open groups.',
  cairn_raft_committed_index: 'Commit index, summed over the open groups.',
  cairn_raft_applied_index: 'Applied index whose rows are in the store, summed over the open groups.',
  cairn_raft_members: {
    help: 'Members of the catalog group, which every node of the cluster is in, by role.',
    labels: { role: ['voter', 'learner'] },
  },
  cairn_raft_follower_lag_entries: {
    help: 'Log entries that a node is not known to have, of the group led by this node in which it lags most.',
    labels: { peer: 64 },
  },
  cairn_worker_queue_depth: {
    help: 'Queue lengths of worker threads. core: messages that it has not taken yet; log: appends that are not durable yet; store: committed entries whose rows are not in the store.',
    labels: { worker: ['core', 'log', 'store'] },
  },
  cairn_raft_members_behind:
    'Members of groups led by this node that lag so far that the log no longer has their next entry.',
  cairn_raft_proposals_pending: 'Proposals that are not committed and applied yet.',
  cairn_replicas_diverged:
    'Replicas on this node whose history differs from that of their group. They serve no requests, and the node must be replaced. See replica-diverged in the log.',
  cairn_replication_memory_bytes:
    'Memory of entries and requests of all databases that are not committed, not applied or not acknowledged by all replicas. The setting replication-memory-bytes limits it.',
  cairn_clock_offset_seconds: {
    help: 'Lower bound of how far the clock of this node is ahead of that of another node (negative: behind). Half the round-trip time of the measurement is subtracted.',
    labels: { peer: 64 },
  },
  cairn_recorded_time_ahead_seconds:
    'Maximum, over the databases that this node leads, of how far the last recorded time is ahead of the clock of this node; 0 up to 2 s. Further events get the same recorded time.',
  cairn_store_size_bytes: {
    help: 'Bytes of files on disk, by kind, measured every 10 s.',
    labels: { kind: ['wal', 'leveldb', 'segments'] },
  },
  cairn_store_scrub_round_timestamp_seconds:
    'Unix time at which the scrub last completed a pass over all rows and sealed segments; 0 before the first pass.',
  cairn_archive_last_success_timestamp_seconds: {
    help: 'Unix time of the recovery point of a database that this node leads: everything that was applied by then is in the archive. It also advances without writes. The databases with the oldest ones.',
    labels: { database: 100 },
  },
  cairn_archive_lag_bytes: {
    help: 'Bytes in the history of a database that this node leads, and not in the archive, when it was archived last.',
    labels: { database: 100 },
  },
  cairn_store_tables: {
    help: 'LevelDB tables by level, measured every 10 s. LevelDB slows writers down at 8 tables in level 0, and stops them at 12.',
    labels: { level: ['0', '1', '2', '3', '4', '5', '6'] },
  },
  cairn_disk_available_bytes: 'Free bytes in the file system of the data directory.',
  cairn_disk_capacity_bytes: 'Size of the file system of the data directory in bytes.',
  cairn_disk_level:
    '0: enough free disk space, 1: below the soft threshold (user writes are refused), 2: below the hard threshold (nothing is appended).',
  cairn_disk_threshold_bytes: {
    help: 'Free disk space below which user writes (soft) or all appends (hard) are refused.',
    labels: { level: ['soft', 'hard'] },
  },
  cairn_corruption_alarm:
    '1 while a start verifies rows, or rows of a database are rebuilt, because damage was found; 0 otherwise.',
  cairn_segments_damaged: 'Damaged segments that the last round of the scrub has found.',
  cairn_databases_rebuilding:
    'Databases whose rows this node rebuilds from their events: they are served by other nodes, or not at all.',
  cairn_rebuild_remaining_bytes: 'Bytes of their histories that are not indexed yet.',
  cairn_databases: 'Databases in the catalog.',
  cairn_databases_recovered:
    'Databases in the catalog that were recovered from one replica after their group had lost its quorum.',
  cairn_database_revision: { help: 'Revision that this node has applied.', labels: { database: 100 } },
  cairn_database_size_bytes: {
    help: 'Approximate disk space that a database uses on this node, without the log. Only with database-bytes-max.',
    labels: { database: 100 },
  },
  cairn_database_quota_bytes: {
    help: 'Disk space that a database may use on this node. Only with database-bytes-max.',
    labels: { database: 100 },
  },
  cairn_mcp_sessions: 'Open MCP sessions on this node.',
  cairn_streams_open: {
    help: 'Open streaming reads.',
    labels: { op: ['query', 'scan', 'scan_batches', 'subscribe'] },
  },
  cairn_peer_active: { help: 'Whether this node is connected to another node: 1 or 0.', labels: { peer: 64 } },
  cairn_cluster_version:
    'Feature level of the cluster, which every node must support; `cairn cluster finalize` raises it.',
  cairn_guest_waiting_calls: {
    help: 'Calls of components that wait or run.',
    labels: { pool: ['views', 'changes', 'presenters'] },
  },
  cairn_guest_resident_bytes: {
    help: 'Resident memory of the guest processes.',
    labels: { pool: ['views', 'changes', 'presenters'] },
  },
  cairn_guest_quarantined_components: {
    help: 'Components that are quarantined: not called for a while, because they killed too many guest processes.',
    labels: { pool: ['views', 'changes', 'presenters'] },
  },
  cairn_guest_cache_bytes: {
    help: 'Bytes in the on-disk cache for components.',
    labels: { kind: ['artifacts', 'states'] },
  },
  cairn_stateview_maintained: {
    help: 'State Views that this node folds in the background. A view counts once per combination of parameters that was read on this node.',
    labels: { mode: ['eager', 'scheduled'] },
  },
  cairn_stateview_maintenance_troubled:
    'Maintained State Views whose last maintenance step failed; they are retried after 1 s to 10 min (docs/components.md).',
  cairn_stateview_lag_revisions: {
    help: 'Revisions by which the eager State View that lags most is behind its database on this node.',
    labels: { database: 100 },
  },
  cairn_tls_certificate_expiry_timestamp_seconds:
    'Unix time at which the certificate of the client ports expires; 0 without TLS.',
  cairn_peer_tls_certificate_expiry_timestamp_seconds:
    'Unix time at which the certificate for peers expires; 0 without one, such as with a shared secret.',
  cairn_build_info: {
    help: 'Always 1. The labels are the release, the version of Node.js, and the commit of the build.',
    labels: { version: 2, node: 2, commit: 2 },
  },
} as const;

export const HISTOGRAMS = {
  grpc_server_handling_seconds: {
    help: 'Time from the start of an RPC to its end.',
    labels: { grpc_type: ['unary', 'server_stream', 'bidi_stream'], grpc_service: 8, grpc_method: 64 },
  },
  http_server_request_duration_seconds: {
    help: 'Time from the start of an HTTP request to the end of its response.',
    labels: { method: 10, route: 80, code: 40 },
  },
  cairn_raft_proposal_duration_seconds: 'Time from a proposal to its outcome, as observed by the caller on this node.',
  cairn_raft_read_index_duration_seconds: 'Time of a linearizable read barrier.',
  cairn_raft_snapshot_duration_seconds: {
    help: 'Time of a snapshot transfer, from its first message to its last.',
    labels: { way: ['sent', 'received'] },
  },
  cairn_core_tick_delay_seconds:
    'Delay of the ticks of the core thread (one every 50 ms). Elections and heartbeats are late by as much. For the thread that serves clients see nodejs_eventloop_lag.',
  cairn_wal_fsync_duration_seconds: 'Time of one write and fdatasync of the write-ahead log.',
  cairn_store_commit_duration_seconds: 'Time to write one applied batch to LevelDB.',
  cairn_transaction_events: 'Events in a committed transaction.',
  cairn_transaction_bytes: 'Size of the events of a committed transaction in bytes.',
  cairn_query_duration_seconds: {
    help: 'Time of a read, from its start to its last event.',
    labels: { op: 20 },
  },
  cairn_catchup_lag_revisions: 'Revisions by which a subscription lags its database, measured at each wake-up.',
  cairn_peer_round_trip_time_seconds: {
    help: 'Round-trip time of a ping to another node, measured every 5 s.',
    labels: { peer: 64 },
  },
  cairn_component_call_duration_seconds: {
    help: 'Duration of component calls by SHA-256 of the component, including the wait for a process. failed: a fold returned an error, or the call had a fault other than a trap. Calls that the node refused or cancelled are not counted.',
    labels: { digest: 100, result: ['answered', 'failed', 'trapped'] },
  },
} as const;

/** 1 ms to 8 s, the buckets of etcd for syncs and commits. */
const DISK_SECONDS = exponential({ from: 0.001, factor: 2, count: 14 });
/** 0.1 ms to 3.3 s, for operations that often need no disk access. */
const REQUEST_SECONDS = exponential({ from: 0.0001, factor: 2, count: 16 });

/** Upper bounds, ascending. */
export const BUCKETS: Readonly<Record<keyof typeof HISTOGRAMS, readonly number[]>> = {
  grpc_server_handling_seconds: REQUEST_SECONDS,
  http_server_request_duration_seconds: REQUEST_SECONDS,
  cairn_raft_proposal_duration_seconds: REQUEST_SECONDS,
  cairn_raft_read_index_duration_seconds: REQUEST_SECONDS,
  cairn_raft_snapshot_duration_seconds: exponential({ from: 0.1, factor: 2, count: 10 }),
  cairn_core_tick_delay_seconds: DISK_SECONDS,
  cairn_wal_fsync_duration_seconds: DISK_SECONDS,
  cairn_store_commit_duration_seconds: DISK_SECONDS,
  cairn_transaction_events: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
  cairn_transaction_bytes: exponential({ from: 256, factor: 4, count: 7 }),
  cairn_query_duration_seconds: REQUEST_SECONDS,
  cairn_catchup_lag_revisions: [0, 1, 10, 100, 1000, 10_000, 100_000],
  cairn_peer_round_trip_time_seconds: REQUEST_SECONDS,
  cairn_component_call_duration_seconds: exponential({ from: 0.001, factor: 2, count: 16 }),
};

function exponential(shape: {
  readonly from: number;
  readonly factor: number;
  readonly count: number;
}): readonly number[] {
  // Twelve digits: 0.0001 * 2 ** 5 must print as 0.0032 in a bucket label.
  return Array.from({ length: shape.count }, (_, i) => Number((shape.from * shape.factor ** i).toPrecision(12)));
}
