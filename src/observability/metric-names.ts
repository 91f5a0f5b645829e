/**
 * The names of all metrics and the values of their labels as types, so that the compiler checks every use.
 *
 * A label typed `string` is open; metric-catalogue.ts limits its values.
 */

type NoLabels = { readonly [label: string]: never };

export type GrpcMethodLabels = {
  readonly grpc_type: 'unary' | 'server_stream' | 'bidi_stream';
  readonly grpc_service: string;
  readonly grpc_method: string;
};

/** Another node, by its number; `unknown` when its number is not known. */
type PeerLabels = { readonly peer: string };

/** Reason why a frame or a stream of another node was dropped or refused. */
type PeerDropReason =
  | 'malformed'
  | 'cluster'
  | 'receiver'
  | 'sender'
  | 'lane'
  | 'stranger'
  | 'removed'
  | 'crowded'
  | 'closing'
  | 'handshake';

/** A level of LevelDB. */
type LevelLabels = { readonly level: '0' | '1' | '2' | '3' | '4' | '5' | '6' };

/** Sent to a member of a group, or received from its leader. */
type SnapshotWay = 'sent' | 'received';

/** Guest processes by the kind of component they run. */
export type GuestPool = 'views' | 'changes' | 'presenters';

/** Whether a read waited for the fold, or it ran in the background. */
type FoldedBy = 'reads' | 'maintenance';

/** Result of a maintenance step of a State View. */
type MaintenanceResult = 'advanced' | 'restarted' | 'failed';

/** Modes of State Views that are folded in the background. */
type MaintainedMode = 'eager' | 'scheduled';

/** Faults of component calls: docs/components.md. */
export const GUEST_FAULTS = [
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
] as const;
export type GuestFault = (typeof GUEST_FAULTS)[number];

/** Compiled components, and folded states. */
export type GuestCache = 'artifacts' | 'states';

export type TransactionResult = 'committed' | 'replayed' | 'conflict' | 'invalid' | 'too_large' | 'failed';

/**
 * `unreached`: no node with a replica was reached; `lost`: a write with unknown outcome; `abandoned`: cancelled by the
 * client.
 */
export type RelayResult = 'answered' | 'broken' | 'unreached' | 'lost' | 'abandoned';
export type RelayProtocol = 'grpc' | 'http' | 'mcp';

/** Counted MCP methods; any other counts as `other`. */
export const MCP_METHODS = [
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
] as const;
export type McpMethod = (typeof MCP_METHODS)[number];

/** Ended by its client, after a timeout, evicted for another session, or with its node. */
export type McpSessionEnd = 'deleted' | 'idle' | 'displaced' | 'closing';

export type RateLimitedProtocol = 'grpc' | 'http' | 'mcp';
/** `shared`: a client without its own bucket. */
export type RateLimitedBy = 'principal' | 'address' | 'shared';

export interface CounterLabels {
  readonly grpc_server_started_total: GrpcMethodLabels;
  readonly grpc_server_handled_total: GrpcMethodLabels & { readonly grpc_code: string };
  readonly grpc_server_msg_received_total: GrpcMethodLabels;
  readonly grpc_server_msg_sent_total: GrpcMethodLabels;
  readonly cairn_redirects_total: { readonly reason: 'latest' | 'cached' | 'effective_time' };
  readonly cairn_connections_closed_total: NoLabels;
  readonly cairn_connections_displaced_total: {
    readonly protocol: RateLimitedProtocol;
    readonly waiting: 'idle' | 'head' | 'body';
  };
  readonly cairn_rejected_total: { readonly reason: 'overload' | 'draining' | 'too_large' | 'disk_full' | 'malformed' };
  readonly cairn_unauthenticated_total: NoLabels;
  readonly cairn_rate_limited_total: { readonly protocol: RateLimitedProtocol; readonly by: RateLimitedBy };
  readonly cairn_tls_handshakes_failed_total: NoLabels;
  readonly cairn_tls_reloads_total: { readonly result: 'loaded' | 'failed' };
  readonly cairn_peer_tls_reloads_total: { readonly result: 'loaded' | 'failed' };
  readonly cairn_identity_keys_reads_total: { readonly result: 'read' | 'failed' };
  readonly cairn_grpc_connections_ended_total: { readonly reason: 'flood' | 'frames' | 'headers' | 'pieces' };
  readonly cairn_relayed_requests_total: { readonly protocol: RelayProtocol; readonly result: RelayResult };
  readonly cairn_mcp_requests_total: { readonly method: McpMethod };
  readonly cairn_mcp_sessions_begun_total: NoLabels;
  readonly cairn_mcp_sessions_ended_total: { readonly reason: McpSessionEnd };
  readonly cairn_trace_spans_ended_total: NoLabels;
  readonly cairn_trace_spans_exported_total: NoLabels;
  readonly cairn_raft_election_total: { readonly result: 'won' | 'lost' | 'timed_out' | 'not_held' };
  readonly cairn_raft_heartbeat_send_failures_total: NoLabels;
  readonly cairn_raft_leader_changes_total: NoLabels;
  readonly cairn_raft_proposals_committed_total: NoLabels;
  readonly cairn_raft_proposals_applied_total: NoLabels;
  readonly cairn_raft_proposals_failed_total: NoLabels;
  readonly cairn_raft_snapshot_bytes_total: { readonly peer: string; readonly way: SnapshotWay };
  readonly cairn_raft_snapshot_failures_total: { readonly way: SnapshotWay };
  readonly cairn_wal_write_bytes_total: NoLabels;
  readonly cairn_store_scrub_bytes_total: NoLabels;
  readonly cairn_store_compaction_seconds_total: LevelLabels;
  readonly cairn_store_compaction_read_bytes_total: LevelLabels;
  readonly cairn_store_compaction_written_bytes_total: LevelLabels;
  readonly cairn_transactions_total: { readonly origin: 'http' | 'grpc'; readonly result: TransactionResult };
  readonly cairn_constraint_checks_total: {
    readonly kind: 'min_revision' | 'max_revision' | 'revision_range';
    readonly result: 'held' | 'violated';
  };
  readonly cairn_query_events_returned_total: NoLabels;
  readonly cairn_cpu_throttled_seconds_total: NoLabels;
  readonly cairn_peer_sent_bytes_total: PeerLabels;
  readonly cairn_peer_received_bytes_total: PeerLabels;
  readonly cairn_peer_sent_failures_total: PeerLabels;
  readonly cairn_peer_received_failures_total: PeerLabels;
  readonly cairn_peer_reading_stopped_total: NoLabels;
  readonly cairn_peer_dropped_frames_total: { readonly reason: PeerDropReason };
  readonly cairn_guest_calls_total: { readonly pool: GuestPool };
  readonly cairn_guest_faults_total: { readonly pool: GuestPool; readonly code: GuestFault };
  readonly cairn_guest_fuel_total: { readonly pool: GuestPool };
  readonly cairn_guest_host_calls_total: { readonly pool: GuestPool };
  readonly cairn_guest_processes_started_total: { readonly pool: GuestPool };
  readonly cairn_guest_processes_killed_total: { readonly pool: GuestPool };
  readonly cairn_guest_processes_recycled_total: { readonly pool: GuestPool };
  readonly cairn_guest_cache_damaged_total: { readonly kind: GuestCache };
  readonly cairn_guest_cache_refused_total: { readonly kind: GuestCache };
  readonly cairn_stateview_events_folded_total: { readonly by: FoldedBy };
  readonly cairn_stateview_maintenance_steps_total: { readonly result: MaintenanceResult };
}

export interface GaugeLabels {
  readonly cairn_inflight_requests: { readonly plane: 'grpc' | 'http' };
  readonly cairn_request_memory_bytes: NoLabels;
  readonly cairn_unsent_memory_bytes: NoLabels;
  readonly cairn_raft_groups: NoLabels;
  readonly cairn_raft_has_leader: NoLabels;
  readonly cairn_raft_is_leader: NoLabels;
  readonly cairn_raft_term: NoLabels;
  readonly cairn_raft_last_index: NoLabels;
  readonly cairn_raft_committed_index: NoLabels;
  readonly cairn_raft_applied_index: NoLabels;
  readonly cairn_raft_proposals_pending: NoLabels;
  readonly cairn_replicas_diverged: NoLabels;
  readonly cairn_replication_memory_bytes: NoLabels;
  readonly cairn_recorded_time_ahead_seconds: NoLabels;
  readonly cairn_clock_offset_seconds: PeerLabels;
  readonly cairn_raft_members: { readonly role: 'voter' | 'learner' };
  readonly cairn_raft_members_behind: NoLabels;
  readonly cairn_raft_follower_lag_entries: PeerLabels;
  readonly cairn_worker_queue_depth: { readonly worker: 'core' | 'log' | 'store' };
  readonly cairn_store_size_bytes: { readonly kind: 'wal' | 'leveldb' };
  readonly cairn_store_scrub_round_timestamp_seconds: NoLabels;
  readonly cairn_store_tables: LevelLabels;
  readonly cairn_disk_available_bytes: NoLabels;
  readonly cairn_disk_capacity_bytes: NoLabels;
  readonly cairn_disk_level: NoLabels;
  readonly cairn_disk_threshold_bytes: { readonly level: 'soft' | 'hard' };
  readonly cairn_corruption_alarm: NoLabels;
  readonly cairn_databases: NoLabels;
  readonly cairn_databases_recovered: NoLabels;
  readonly cairn_database_revision: { readonly database: string };
  readonly cairn_database_size_bytes: { readonly database: string };
  readonly cairn_database_quota_bytes: { readonly database: string };
  readonly cairn_streams_open: { readonly op: 'query' | 'scan' | 'scan_batches' | 'subscribe' };
  readonly cairn_mcp_sessions: NoLabels;
  readonly cairn_peer_active: PeerLabels;
  readonly cairn_cluster_version: NoLabels;
  readonly cairn_guest_waiting_calls: { readonly pool: GuestPool };
  readonly cairn_guest_resident_bytes: { readonly pool: GuestPool };
  readonly cairn_guest_quarantined_components: { readonly pool: GuestPool };
  readonly cairn_guest_cache_bytes: { readonly kind: GuestCache };
  readonly cairn_stateview_maintained: { readonly mode: MaintainedMode };
  readonly cairn_stateview_maintenance_troubled: NoLabels;
  readonly cairn_stateview_lag_revisions: { readonly database: string };
  readonly cairn_tls_certificate_expiry_timestamp_seconds: NoLabels;
  readonly cairn_peer_tls_certificate_expiry_timestamp_seconds: NoLabels;
  readonly cairn_build_info: { readonly version: string; readonly node: string; readonly commit: string };
}

export interface HistogramLabels {
  readonly grpc_server_handling_seconds: GrpcMethodLabels;
  readonly http_server_request_duration_seconds: {
    readonly method: string;
    readonly route: string;
    readonly code: string;
  };
  readonly cairn_raft_proposal_duration_seconds: NoLabels;
  readonly cairn_raft_read_index_duration_seconds: NoLabels;
  readonly cairn_raft_snapshot_duration_seconds: { readonly way: SnapshotWay };
  readonly cairn_core_tick_delay_seconds: NoLabels;
  readonly cairn_wal_fsync_duration_seconds: NoLabels;
  readonly cairn_store_commit_duration_seconds: NoLabels;
  readonly cairn_transaction_events: NoLabels;
  readonly cairn_transaction_bytes: NoLabels;
  readonly cairn_query_duration_seconds: { readonly op: string };
  readonly cairn_catchup_lag_revisions: NoLabels;
  readonly cairn_peer_round_trip_time_seconds: PeerLabels;
  readonly cairn_component_call_duration_seconds: {
    readonly digest: string;
    readonly result: 'answered' | 'failed' | 'trapped';
  };
}

export type CounterName = keyof CounterLabels;
export type GaugeName = keyof GaugeLabels;
export type HistogramName = keyof HistogramLabels;
export type MetricName = CounterName | GaugeName | HistogramName;
