/**
 * Every metric of a node, as data: the one place where a metric gets its help, its label bounds and its buckets (O1).
 * docs/metrics.md is generated from it.
 *
 * Names without the prefix `cairn_` are those that existing gRPC and HTTP dashboards already know. Counters end in
 * `_total`, durations are seconds, sizes bytes.
 */
import {
  type CounterLabels,
  type GaugeLabels,
  GUEST_FAULTS,
  type HistogramLabels,
  MCP_METHODS,
  type MetricName,
} from './metric-names.ts';

/**
 * For a closed label its values; for an open one the number of values that are named, beyond which counts go to
 * `other`.
 */
export type LabelBound = readonly string[] | number;

type LabelBounds<L> = { readonly [K in keyof L]: LabelBound };

export interface MetricDefinition<L = Readonly<Record<string, string>>> {
  readonly help: string;
  readonly labels: LabelBounds<L>;
  /** Histograms only: upper bounds, ascending. */
  readonly buckets?: readonly number[];
}

type Table<T> = { readonly [N in keyof T]: MetricDefinition<T[N]> };

const NONE = {};
const PEER = { peer: 64 };
/** Of LevelDB. */
const LEVEL = { level: ['0', '1', '2', '3', '4', '5', '6'] } as const;
const POOL = { pool: ['views', 'changes', 'presenters'] } as const;
const CACHE = { kind: ['artifacts', 'states'] } as const;
const WAY = { way: ['sent', 'received'] } as const;
const GRPC_METHOD = { grpc_type: ['unary', 'server_stream', 'bidi_stream'], grpc_service: 8, grpc_method: 64 };

export const COUNTERS: Table<CounterLabels> = {
  grpc_server_started_total: { help: 'RPCs started on the server.', labels: GRPC_METHOD },
  grpc_server_handled_total: {
    help: 'RPCs completed on the server, by status code.',
    labels: { ...GRPC_METHOD, grpc_code: 20 },
  },
  grpc_server_msg_received_total: { help: 'Messages received by the server.', labels: GRPC_METHOD },
  grpc_server_msg_sent_total: { help: 'Messages sent by the server.', labels: GRPC_METHOD },
  cairn_redirects_total: {
    help: 'Redirects to a concrete revision or time.',
    labels: { reason: ['latest', 'cached', 'effective_time'] },
  },
  cairn_connections_closed_total: {
    help: 'Connections closed as they came, to keep file descriptors for log and store, metrics, peers and the other port.',
    labels: NONE,
  },
  cairn_connections_displaced_total: {
    help: 'Connections closed for others that came when there were as many as there may be, by what they waited for. idle: another request; head: the headers of their first one, or nothing yet; body: the rest of a request.',
    labels: { protocol: ['grpc', 'http', 'mcp'], waiting: ['idle', 'head', 'body'] },
  },
  cairn_rejected_total: {
    help: 'Requests refused before they were tried; malformed: by headers or frames of gRPC, or bytes that are no HTTP.',
    labels: { reason: ['overload', 'draining', 'too_large', 'disk_full', 'malformed'] },
  },
  cairn_unauthenticated_total: {
    help: 'Requests with a credential that is not valid: forged, expired, revoked or sent twice. Requests without one are not counted.',
    labels: NONE,
  },
  cairn_rate_limited_total: {
    help: 'Requests refused because their client had made more than --rate-limit-per-second and --rate-limit-burst allow it. shared: so many other clients were over their rate that it had no count of its own.',
    labels: { protocol: ['grpc', 'http', 'mcp'], by: ['principal', 'address', 'shared'] },
  },
  cairn_tls_handshakes_failed_total: {
    help: 'Connections that ended before their handshake of TLS was over: no TLS, another version, no certificate that is valid, or too slow.',
    labels: NONE,
  },
  cairn_tls_reloads_total: {
    help: 'Times that the files of TLS were found changed, and used (loaded), or could not be used (failed): then what was in use stays.',
    labels: { result: ['loaded', 'failed'] },
  },
  cairn_peer_tls_reloads_total: {
    help: 'The same of the files of TLS between nodes.',
    labels: { result: ['loaded', 'failed'] },
  },
  cairn_identity_keys_reads_total: {
    help: 'Attempts to read the keys of those who sign tokens. failed: no answer in time, or one that is no keys.',
    labels: { result: ['read', 'failed'] },
  },
  cairn_grpc_connections_ended_total: {
    help: 'Connections of gRPC ended because of what their clients sent. flood: far more calls in a turn of the event loop than they may begin; frames: far more frames than those of their requests; headers: a request with far too many of them; pieces: requests in far too many small pieces.',
    labels: { reason: ['flood', 'frames', 'headers', 'pieces'] },
  },
  cairn_relayed_requests_total: {
    help: 'Requests passed on to other nodes: for databases of which this node holds no copy, and of sessions of MCP that another node has.',
    labels: { protocol: ['grpc', 'http', 'mcp'], result: ['answered', 'broken', 'unreached', 'lost', 'abandoned'] },
  },
  cairn_mcp_requests_total: {
    help: 'Messages of MCP, on the node that has their session. How long tools take is seen by the requests of HTTP that they make.',
    labels: { method: MCP_METHODS },
  },
  cairn_mcp_sessions_begun_total: { help: 'Sessions of MCP that began on this node.', labels: NONE },
  cairn_mcp_sessions_ended_total: {
    help: 'Sessions of MCP that ended on this node: deleted by their clients, idle for too long, displaced by others when there were too many, or because the node was closing.',
    labels: { reason: ['deleted', 'idle', 'displaced', 'closing'] },
  },
  cairn_trace_spans_ended_total: {
    help: 'Spans of traces that ended on this node. The difference to the exported spans is lost or waits for up to a second.',
    labels: NONE,
  },
  cairn_trace_spans_exported_total: {
    help: 'Spans of traces that the collector of `otlp-endpoint` accepted.',
    labels: NONE,
  },
  cairn_raft_election_total: {
    help: 'Elections in which this node wanted to lead a group. lost: most voted otherwise, or another one leads; timed_out: too few voted; not_held: too few said beforehand that they would vote for it.',
    labels: { result: ['won', 'lost', 'timed_out', 'not_held'] },
  },
  cairn_raft_heartbeat_send_failures_total: {
    help: 'Frames with heartbeats, what answers them or appends, votes or reads that were refused or lost; each has those of many groups.',
    labels: NONE,
  },
  cairn_raft_leader_changes_total: { help: 'Leaders that groups on this node got.', labels: NONE },
  cairn_raft_proposals_committed_total: { help: 'Log entries committed.', labels: NONE },
  cairn_raft_proposals_applied_total: { help: 'Log entries applied.', labels: NONE },
  cairn_raft_proposals_failed_total: { help: 'Proposals refused, or whose outcome is unknown.', labels: NONE },
  cairn_raft_snapshot_bytes_total: {
    help: 'Bytes of state sent to members that lack it, and received from leaders.',
    labels: { ...PEER, ...WAY },
  },
  cairn_raft_snapshot_failures_total: { help: 'Transfers of state that did not come to their end.', labels: WAY },
  cairn_wal_write_bytes_total: { help: 'Bytes written to the log.', labels: NONE },
  cairn_store_scrub_bytes_total: { help: 'Bytes of LevelDB tables read again and verified.', labels: NONE },
  cairn_store_compaction_seconds_total: {
    help: 'Time of compactions of LevelDB into a level, as it tells it: in whole seconds; read every 10 s.',
    labels: LEVEL,
  },
  cairn_store_compaction_read_bytes_total: {
    help: 'Bytes that compactions of LevelDB into a level have read, as it tells it: in whole MiB.',
    labels: LEVEL,
  },
  cairn_store_compaction_written_bytes_total: {
    help: 'Bytes that compactions of LevelDB into a level have written, and tables made of memory; in whole MiB.',
    labels: LEVEL,
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
  cairn_query_events_returned_total: { help: 'Events returned by reads.', labels: NONE },
  cairn_cpu_throttled_seconds_total: {
    help: 'Time that a limit on processor time has kept the container of the node from running.',
    labels: NONE,
  },
  cairn_peer_sent_bytes_total: { help: 'Bytes of frames sent to another node.', labels: PEER },
  cairn_peer_received_bytes_total: { help: 'Bytes of frames received from another node.', labels: PEER },
  cairn_peer_sent_failures_total: {
    help: 'Frames for another node that were refused (it is not reached, or too much waits for it) or lost with their connection.',
    labels: PEER,
  },
  cairn_peer_received_failures_total: {
    help: 'Streams and frames of another node that were refused; cairn_peer_dropped_frames_total says why.',
    labels: PEER,
  },
  cairn_peer_reading_stopped_total: {
    help: 'Times that no more appends of another node were read, because log or state of this one had not taken a quarter of replication-memory-bytes yet that had been read.',
    labels: NONE,
  },
  cairn_peer_dropped_frames_total: {
    help: 'Frames from other nodes that were dropped, and streams that were refused. malformed: not a frame, or damaged; cluster: from another cluster; receiver: for another node or store; sender: the store is not the one known, or the node is not the one that opened the stream; lane: belongs to another lane; stranger: the catalog does not list the sender, and the frame is not about the catalog; removed: from a removed node; crowded: too many streams; closing: this node is closing; handshake: the connection lacks TLS, a valid certificate or the secret, is too slow, or uses TLS where this node has none.',
    labels: {
      reason: [
        'malformed',
        'cluster',
        'receiver',
        'sender',
        'lane',
        'stranger',
        'removed',
        'crowded',
        'closing',
        'handshake',
      ],
    },
  },
  cairn_guest_calls_total: { help: 'Calls of components.', labels: POOL },
  cairn_guest_faults_total: {
    help: 'Calls of components that gave no answer, by what happened (docs/components.md).',
    labels: { ...POOL, code: GUEST_FAULTS },
  },
  cairn_guest_fuel_total: { help: 'Units of fuel that components have spent.', labels: POOL },
  cairn_guest_host_calls_total: { help: 'Questions of components to the node.', labels: POOL },
  cairn_guest_processes_started_total: { help: 'Processes begun to run components.', labels: POOL },
  cairn_guest_processes_killed_total: {
    help: 'Processes that run components and were ended, or ended, in the middle of a call.',
    labels: POOL,
  },
  cairn_guest_processes_recycled_total: {
    help: 'Processes that run components and were replaced for what they held.',
    labels: POOL,
  },
  cairn_guest_cache_damaged_total: { help: 'Cached files that were not what was put there.', labels: CACHE },
  cairn_guest_cache_refused_total: {
    help: 'Files that were not cached: the disk refused them, or had little room left.',
    labels: CACHE,
  },
  cairn_stateview_events_folded_total: {
    help: 'Events folded by State Views: for reads that waited for it, or by maintenance while nobody did.',
    labels: { by: ['reads', 'maintenance'] },
  },
  cairn_stateview_maintenance_steps_total: {
    help: 'Steps of the maintenance of State Views. restarted: folded from the first event again, because what was kept is gone or an event came late; failed: the component gave no answer, or its state was not kept.',
    labels: { result: ['advanced', 'restarted', 'failed'] },
  },
};

export const GAUGES: Table<GaugeLabels> = {
  cairn_inflight_requests: { help: 'Requests being answered.', labels: { plane: ['grpc', 'http'] } },
  cairn_request_memory_bytes: {
    help: 'Bytes that requests hold while they arrive and are worked on, and streams of gRPC that stand open.',
    labels: NONE,
  },
  cairn_unsent_memory_bytes: { help: 'Bytes of replies that clients have not read yet.', labels: NONE },
  cairn_raft_groups: { help: 'Groups of which this node has a replica that is open.', labels: NONE },
  cairn_raft_has_leader: { help: 'Groups on this node that have a leader.', labels: NONE },
  cairn_raft_is_leader: { help: 'Groups that this node leads.', labels: NONE },
  cairn_raft_term: { help: 'Highest term that a group on this node has been in.', labels: NONE },
  cairn_raft_last_index: { help: 'Last log index, summed over the groups that are open.', labels: NONE },
  cairn_raft_committed_index: { help: 'Committed log index, summed over the groups that are open.', labels: NONE },
  cairn_raft_applied_index: {
    help: 'Applied log index with its rows in the store, summed over the groups that are open.',
    labels: NONE,
  },
  cairn_raft_members: {
    help: 'Members of the group of the catalog, which is every node of the cluster, by what they are in it.',
    labels: { role: ['voter', 'learner'] },
  },
  cairn_raft_follower_lag_entries: {
    help: 'Log entries that a node is not known to hold of a group that this one leads: of the group of which it lacks most.',
    labels: PEER,
  },
  cairn_worker_queue_depth: {
    help: 'What waits for work done beside the clients: messages to the core, appends to the log that are not durable, committed entries whose rows are not in the store.',
    labels: { worker: ['core', 'log', 'store'] },
  },
  cairn_raft_members_behind: {
    help: 'Members of groups led here that lack more than the log still has.',
    labels: NONE,
  },
  cairn_raft_proposals_pending: { help: 'Proposals that wait to be committed and applied.', labels: NONE },
  cairn_replicas_diverged: {
    help: 'Replicas on this node that hold another history than their groups: they serve nothing, and the node is to be replaced. See the log for replica-diverged.',
    labels: NONE,
  },
  cairn_replication_memory_bytes: {
    help: 'Bytes that all databases hold of entries and requests that are not settled yet: not committed, not applied, or not known to all copies. The setting replication-memory-bytes bounds it.',
    labels: NONE,
  },
  cairn_clock_offset_seconds: {
    help: 'How far the clock of this node is ahead of that of another node (negative: behind), at the least: half of the round trip in which it was measured is subtracted.',
    labels: PEER,
  },
  cairn_recorded_time_ahead_seconds: {
    help: 'How far the last recorded time of a database that this node leads is ahead of the clock of this node, if by more than 2 s: of the one that is furthest. Later recorded times repeat it.',
    labels: NONE,
  },
  cairn_store_size_bytes: {
    help: 'Bytes of files on disk, by kind; log and LevelDB are measured every 10 s.',
    labels: { kind: ['wal', 'leveldb'] },
  },
  cairn_store_scrub_round_timestamp_seconds: {
    help: 'When every table of LevelDB had last been verified, as Unix time; 0 before the first time.',
    labels: NONE,
  },
  cairn_store_tables: {
    help: 'Tables of LevelDB by level, every 10 s. With 8 at level 0 it slows writers down, with 12 it stops them.',
    labels: LEVEL,
  },
  cairn_disk_available_bytes: { help: 'Bytes that the file system of the data directory can take.', labels: NONE },
  cairn_disk_capacity_bytes: { help: 'Size of the file system of the data directory in bytes.', labels: NONE },
  cairn_disk_level: { help: '0 plenty, 1 soft (user writes refused), 2 hard (no appends).', labels: NONE },
  cairn_disk_threshold_bytes: {
    help: 'What must be available, or else user writes (soft) or all appends (hard) are refused.',
    labels: { level: ['soft', 'hard'] },
  },
  cairn_corruption_alarm: {
    help: '1 while a node that came across damage in its store, and ended by it, verifies every row at its next start; 0 when all are whole.',
    labels: NONE,
  },
  cairn_databases: { help: 'Databases in the catalog.', labels: NONE },
  cairn_databases_recovered: {
    help: 'Databases in the catalog that go on with one copy of an instance that has lost its quorum.',
    labels: NONE,
  },
  cairn_database_revision: { help: 'Revision that this node has applied.', labels: { database: 100 } },
  cairn_database_size_bytes: {
    help: 'About what a database takes of the disk of this node, beside the log. Only with database-bytes-max.',
    labels: { database: 100 },
  },
  cairn_database_quota_bytes: {
    help: 'What a database may take of the disk of this node. Only with database-bytes-max.',
    labels: { database: 100 },
  },
  cairn_mcp_sessions: { help: 'Sessions of MCP that this node has.', labels: NONE },
  cairn_streams_open: {
    help: 'Streaming reads that are open.',
    labels: { op: ['query', 'scan', 'scan_batches', 'subscribe'] },
  },
  cairn_peer_active: { help: 'Whether another node is reached: 1 or 0.', labels: PEER },
  cairn_cluster_version: {
    help: 'Feature level of the cluster, which every node must know; `cairn cluster finalize` raises it.',
    labels: NONE,
  },
  cairn_guest_waiting_calls: { help: 'Calls of components that wait or are worked on.', labels: POOL },
  cairn_guest_resident_bytes: { help: 'Resident memory of the processes that run components.', labels: POOL },
  cairn_guest_quarantined_components: {
    help: 'Components that are not called for a while, because they ended too many processes.',
    labels: POOL,
  },
  cairn_guest_cache_bytes: { help: 'Bytes of what is cached on disk for components.', labels: CACHE },
  cairn_stateview_maintained: {
    help: 'State Views, each with the values of parameters that it was read with here, that this node folds while nobody reads them.',
    labels: { mode: ['eager', 'scheduled'] },
  },
  cairn_stateview_maintenance_troubled: {
    help: 'Of these, those that failed the last time; they are tried again after 1 s to 10 min (docs/components.md).',
    labels: NONE,
  },
  cairn_stateview_lag_revisions: {
    help: 'Revisions that this node has applied and the eager State View of the database that is furthest behind has not seen.',
    labels: { database: 100 },
  },
  cairn_tls_certificate_expiry_timestamp_seconds: {
    help: 'When the certificate of this node that is in use expires, in seconds since 1970. 0 without TLS.',
    labels: NONE,
  },
  cairn_peer_tls_certificate_expiry_timestamp_seconds: {
    help: 'When the certificate that this node shows to other nodes expires, in seconds since 1970. 0 without one, such as with a shared secret.',
    labels: NONE,
  },
  cairn_build_info: {
    help: 'Always 1; the labels say what runs: the release, the Node.js under it, and the commit it was built from.',
    labels: { version: 2, node: 2, commit: 2 },
  },
};

/** 1 ms to 8 s, as etcd buckets its syncs and commits. */
const DISK_SECONDS = exponential({ from: 0.001, factor: 2, count: 14 });
/** 0.1 ms to 3.3 s, for what often takes no disk. */
const REQUEST_SECONDS = exponential({ from: 0.0001, factor: 2, count: 16 });

export const HISTOGRAMS: Table<HistogramLabels> = {
  grpc_server_handling_seconds: {
    help: 'Time from the start of an RPC to its end.',
    labels: GRPC_METHOD,
    buckets: REQUEST_SECONDS,
  },
  http_server_request_duration_seconds: {
    help: 'Time from the start of an HTTP request to the end of its response.',
    labels: { method: 10, route: 80, code: 40 },
    buckets: REQUEST_SECONDS,
  },
  cairn_raft_proposal_duration_seconds: {
    help: 'Time from a proposal to its outcome, as the caller on this node sees it.',
    labels: NONE,
    buckets: REQUEST_SECONDS,
  },
  cairn_raft_read_index_duration_seconds: {
    help: 'Time of a linearizable read barrier.',
    labels: NONE,
    buckets: REQUEST_SECONDS,
  },
  cairn_raft_snapshot_duration_seconds: {
    help: 'Time of a transfer of state from its first message to its last.',
    labels: WAY,
    buckets: exponential({ from: 0.1, factor: 2, count: 10 }),
  },
  cairn_core_tick_delay_seconds: {
    help: 'How late the thread of the core was with a tick, one every 50 ms. What it stands still, elections and beats do; nodejs_eventloop_lag is that of the thread that serves clients.',
    labels: NONE,
    buckets: DISK_SECONDS,
  },
  cairn_wal_fsync_duration_seconds: {
    help: 'Time of one write and fdatasync of the log.',
    labels: NONE,
    buckets: DISK_SECONDS,
  },
  cairn_store_commit_duration_seconds: {
    help: 'Time of one applied batch in LevelDB.',
    labels: NONE,
    buckets: DISK_SECONDS,
  },
  cairn_transaction_events: {
    help: 'Events in a committed transaction.',
    labels: NONE,
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
  },
  cairn_transaction_bytes: {
    help: 'Bytes of the events of a committed transaction.',
    labels: NONE,
    buckets: exponential({ from: 256, factor: 4, count: 7 }),
  },
  cairn_query_duration_seconds: {
    help: 'Time of a read, to its last event.',
    labels: { op: 20 },
    buckets: REQUEST_SECONDS,
  },
  cairn_catchup_lag_revisions: {
    help: 'Revisions between a live tail and its database, seen at each wake-up.',
    labels: NONE,
    buckets: [0, 1, 10, 100, 1000, 10_000, 100_000],
  },
  cairn_peer_round_trip_time_seconds: {
    help: 'Time of a ping to another node and back, every 5 s.',
    labels: PEER,
    buckets: REQUEST_SECONDS,
  },
  cairn_component_call_duration_seconds: {
    help: 'Duration of calls of a component, by its SHA-256, with the wait for a process. failed: a fold returned an error, or the call had a fault other than a trap. Calls that the node refused or gave up are not counted.',
    labels: { digest: 100, result: ['answered', 'failed', 'trapped'] },
    buckets: exponential({ from: 0.001, factor: 2, count: 16 }),
  },
};

/** The definition of any metric. */
export function definitionOf(name: MetricName): MetricDefinition {
  const all: Readonly<Record<MetricName, MetricDefinition>> = { ...COUNTERS, ...GAUGES, ...HISTOGRAMS };
  return all[name];
}

function exponential(shape: {
  readonly from: number;
  readonly factor: number;
  readonly count: number;
}): readonly number[] {
  // Twelve digits: 0.0001 * 2 ** 5 must print as 0.0032 in a bucket label.
  return Array.from({ length: shape.count }, (_, i) => Number((shape.from * shape.factor ** i).toPrecision(12)));
}
